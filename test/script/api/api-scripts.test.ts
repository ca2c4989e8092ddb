import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { createApiScriptHost } from '../../../src/script/api/run.ts';
import { childSlots } from '../../../src/script/process/child-slots.ts';
import { scriptProcesses, startScripted, type Scripted } from '../../helpers/scripts/api-scripts.ts';
import { listening } from '../../helpers/network/http.ts';
import { runtimesHere } from '../../helpers/scripts/runtimes.ts';

/** Scripts that mean harm, or have gone wrong: one clear result each, the slot back, no process left. */

let scripted: Scripted;

const failure = (code: string, message: RegExp) => ({
  ok: false,
  reason: { code, owner: 'script', message: expect.stringMatching(message) },
});

/** What a script writes to the channel to the agent, past everything that is meant to. */
const forged = (...messages: unknown[]) =>
  `const fs = process.getBuiltinModule('node:fs');
   let rest = Buffer.from(${JSON.stringify(messages)}.map((message) => JSON.stringify(message) + '\\n').join(''));
   while (rest.length > 0) {
     try { rest = rest.subarray(fs.writeSync(3, rest)) } catch (error) { if (error.code !== 'EAGAIN') throw error }
   }`;

describe.skipIf(runtimesHere.length === 0)('a process that does not start', () => {
  test('is not waited for beyond the deadline, and is not the script’s fault', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'api-scripts-'));
    const node = join(folder, 'node');
    writeFileSync(node, '#!/bin/sh\n[ "$1" = --version ] && { echo v24.0.0; exit; }\nexec sleep 60\n');
    chmodSync(node, 0o755);
    const host = createApiScriptHost();
    const controller = new AbortController();
    const session = await host.open(
      { ...runtimesHere[0]!, node },
      {
        env: {},
        signal: controller.signal,
        log: () => undefined,
        addSecret: () => undefined,
        withhold: () => undefined,
        scripts: { runtimeId: 'x', setup: [{ origin: 'check', content: '' }], teardown: [], files: [] },
      },
    );
    const request = { method: 'GET', url: 'x', body: '', headers: {}, queryParameters: {} };
    const setup = session.setup(request);
    setTimeout(() => controller.abort(new JobAborted('deadline')), 500);
    await expect(setup).rejects.toMatchObject({ name: 'AgentError', code: 'INTERNAL' });
    await session.close();
    await host.close();
    rmSync(folder, { recursive: true });
  }, 20_000);
});

describe.skipIf(runtimesHere.length === 0)('hostile setup and teardown scripts', () => {
  beforeAll(async () => {
    scripted = await startScripted();
  });
  afterAll(async () => {
    await scripted.close();
    expect(scriptProcesses()).toEqual([]);
    expect(childSlots.taken).toEqual({ api: 0, playwright: 0 });
  });
  beforeEach(() => {
    scripted.seen.length = 0;
  });

  test('blocked threads and pending promises are stopped after 10 s, then the rest of the run follows', async () => {
    // As deaf as a loop, which would take a core of the machine for all that time.
    const stuck = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';
    const [setup, waiting, teardown] = await Promise.all([
      scripted.run({ setup: stuck, teardown: `console.log('teardown')` }),
      scripted.run({ setup: 'await new Promise(() => undefined)' }),
      scripted.run(
        {
          setup: `process.env.KEPT = 'kept'`,
          teardown: stuck,
          groupTeardown: `console.log('group', process.env.KEPT, response.statusCode)`,
        },
        {
          request: {
            assertions: [
              { source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200', regex: null },
            ],
          },
        },
      ),
    ]);
    const inSetup = failure('SCRIPT_TIMEOUT', /^the check's setup script did not finish within 10 s$/);
    expect(setup).toMatchObject({ base: inSetup, lines: [], assertions: [] });
    expect(waiting.base).toEqual(inSetup);
    expect(teardown.base).toEqual(failure('SCRIPT_TIMEOUT', /^the check's teardown script did not finish/));
    // The process of the thread is gone; the group's teardown had another, with the run's variables.
    expect(teardown.lines).toEqual(['info teardown: group kept 200']);
    expect(teardown.assertions).toMatchObject([{ error: null }]);
    expect(scripted.seen).toHaveLength(1);
  }, 60_000);

  test.each([
    ['process.exit(0)', 'SCRIPT_THREW', /setup script exited \(exit code 0\) before it was finished/],
    ['process.abort()', 'SCRIPT_KILLED', /setup script was killed/],
    [`process.kill(process.pid, 'SIGKILL')`, 'SCRIPT_KILLED', /setup script was killed by signal SIGKILL/],
    [
      `setTimeout(() => { throw new Error('later') }); await new Promise(() => undefined)`,
      'SCRIPT_THREW',
      /threw Error: later/,
    ],
    [
      `Promise.reject(new Error('nobody')); await new Promise(() => undefined)`,
      'SCRIPT_THREW',
      /threw Error: nobody/,
    ],
    [
      `process.removeAllListeners('uncaughtException'); process.removeAllListeners('unhandledRejection');
       Promise.reject(new Error('nobody')); await new Promise(() => undefined)`,
      'SCRIPT_THREW',
      /exited \(exit code 1\)/,
    ],
    [
      `throw { get message() { throw 1 }, [Symbol.for('nodejs.util.inspect.custom')]() { throw 2 } }`,
      'SCRIPT_THREW',
      /threw a value that cannot be shown/,
    ],
    [`class Odd extends Error { get stack() { throw 1 } } throw new Odd()`, 'SCRIPT_THREW', /threw /],
    [
      `const keep = []; for (;;) keep.push(new Array(1e6).fill(keep.length))`,
      'SCRIPT_KILLED',
      /more than 256 MB/,
    ],
    [
      `const keep = []; for (;;) { keep.push(Buffer.alloc(1e7, 1)); await null }`,
      'SCRIPT_KILLED',
      /it used more than 512 MB of memory|was killed/,
    ],
    [
      `for (;;) { process.stdout.write('x'.repeat(1e6)); await new Promise(setImmediate) }`,
      'SCRIPT_KILLED',
      // Where the agent is too busy to read, what waits to be written fills the script's own memory first.
      /used more than (?:1 MB of output|256 MB)/,
    ],
    [
      `})(); (() => { throw new Error('outside') })(); (async () => {`,
      'SCRIPT_THREW',
      /outside|is not a function/,
    ],
  ])('%s', async (setup, code, message) => {
    const { base } = await scripted.run({ setup });
    expect(base).toEqual(failure(code, message));
    expect(scripted.seen).toEqual([]);
  });

  test('a gigabyte on the console: the first lines are kept, and the run continues', async () => {
    const { base, lines } = await scripted.run({
      setup: `const line = 'x'.repeat(1e6); for (let i = 0; i < 1000; i++) console.log(line)`,
    });
    expect(base).toEqual({ ok: true });
    expect(lines).toHaveLength(200);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(4200);
    expect(lines.at(-1)).toBe('warn setup: only the first 199 log lines of a run are kept');
  });

  test('a promise that fails after its script: a line in the log', async () => {
    const { base, lines } = await scripted.run({
      setup: `setTimeout(() => { throw new Error('too late') }, 20)`,
      teardown: `await new Promise((resolve) => setTimeout(resolve, 1))`,
      groupTeardown: `await new Promise((resolve) => setTimeout(resolve, 100))`,
    });
    // Where it is thrown while a script runs, it is that script's.
    if (base.ok)
      expect(lines).toEqual([
        expect.stringMatching(/^error \w+: after the script had finished: Error: too late$/),
      ]);
    else expect(base).toEqual(failure('SCRIPT_THREW', /too late/));
  });

  describe('messages that a script writes to the agent itself', () => {
    const done = {
      kind: 'done',
      id: 1,
      request: null,
      body: null,
      env: { set: {}, unset: [] },
    };
    test.each([
      ['no message of ours', { kind: 'started' }],
      ['no object', [1, 2]],
      ['an odd level', { kind: 'log', level: 'fatal', msg: 'x' }],
      ['a long line', { kind: 'log', level: 'info', msg: 'x'.repeat(5000) }],
      ['a huge secret', { kind: 'secret', name: 'a', value: 'x'.repeat(200_000) }],
      ['an odd request', { ...done, request: { method: 1 } }],
      [
        'odd headers',
        { ...done, request: { method: 'GET', url: '', body: null, headers: { a: {} }, queryParameters: {} } },
      ],
      ['an odd environment', { ...done, env: { set: { a: 1 }, unset: [] } }],
      ['too much', { ...done, env: { set: { a: 'x'.repeat(300_000) }, unset: [] } }],
      ['an odd failure', { kind: 'failed', id: 1, code: 'CANCELLED', message: '', at: null }],
    ])('%s', async (_name, message) => {
      const { base } = await scripted.run({ setup: `${forged(message)} await new Promise(() => undefined)` });
      expect(base).toEqual(
        failure('SCRIPT_KILLED', /it wrote to the channel between the agent and its process/),
      );
    });

    test('no JSON, without end', async () => {
      const { base } = await scripted.run({
        setup: `const fs = process.getBuiltinModule('node:fs');
          const garbage = Buffer.alloc(1e6, 'x\\n');
          for (;;) try { fs.writeSync(3, garbage) } catch {}`,
      });
      expect(base).toEqual(failure('SCRIPT_KILLED', /it wrote to the channel/));
    });

    test('too many', async () => {
      const lines = Array.from({ length: 400 }, () => ({ kind: 'log', level: 'info', msg: 'x' }));
      const { base } = await scripted.run({
        setup: `${forged(...lines)} await new Promise(() => undefined)`,
      });
      expect(base).toEqual(failure('SCRIPT_KILLED', /it wrote to the channel/));
    });

    test('an answer for a script that has not begun does not count for it', async () => {
      const { base, lines } = await scripted.run({
        setup: forged({ ...done, id: 2 }, { ...done, id: 3 }),
        teardown: `console.log('teardown')`,
      });
      expect(base).toEqual({ ok: true });
      expect(lines).toEqual(['info teardown: teardown']);
    });
  });

  test('changed built-ins and prototypes reach no further than the run', async () => {
    const setup = `
      Object.prototype.headers = { polluted: 'yes' };
      Object.prototype.toJSON = () => 'nothing';
      Array.prototype.push = () => { throw new Error('push') };
      JSON.stringify = () => '"forged"';
      globalThis.Promise = null;
      console.log = null;`;
    const { base } = await scripted.run({ setup });
    expect(base.ok || base.reason.owner === 'script').toBe(true);
    const clean = await scripted.run({ setup: `console.log(JSON.stringify({}.headers ?? 'clean'))` });
    expect(clean).toMatchObject({ base: { ok: true }, lines: ['info setup: "clean"'] });
    expect(({} as { headers?: unknown }).headers).toBeUndefined();
  });

  test('the bundled program runs, and scripts cannot access its internals', async () => {
    const { base, lines } = await scripted.run({
      setup: `console.log(require('path').extname(process.argv[1]), typeof process.mainModule, typeof exports.openChannel)`,
    });
    expect({ base, lines }).toEqual({ base: { ok: true }, lines: ['info setup: .cjs undefined undefined'] });
  });

  test.each([
    [
      'more secrets than are taken',
      `for (let i = 0; i < 5000; i++) process.env.SERVICE_SECRET_X = 'value ' + i;`,
      'a script registered more than 100 secrets',
    ],
    [
      'a secret that is too long',
      `require('@location-agent/helpers').secret('x'.repeat(131073));`,
      'a script registered a secret of more than 128 KiB',
    ],
  ])('%s: the script is killed, and its texts are withheld', async (_name, setup, why) => {
    const { base, secrets, withheld } = await scripted.run({ setup });
    expect(base).toMatchObject({
      ok: false,
      reason: { code: 'SCRIPT_KILLED', message: `the check's setup script was killed: ${why}` },
    });
    expect(withheld).toEqual([why]);
    expect(secrets.length).toBeLessThanOrEqual(100);
  });

  test('the same secret again does not count', async () => {
    const { base, withheld } = await scripted.run({
      setup: `for (let i = 0; i < 5000; i++) process.env['SERVICE_SECRET_' + i] = 'value ' + (i % 100);`,
    });
    expect({ base, withheld }).toEqual({ base: { ok: true }, withheld: [] });
  });

  test('files outside the runtime cannot be read, and none can be written', async () => {
    const { lines } = await scripted.run({
      setup: `
        const fs = process.getBuiltinModule('node:fs');
        for (const path of ['/etc/shadow', '/proc/' + process.ppid + '/environ', '/root', process.cwd() + '/../../README.md']) {
          try { fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path); console.log('read', path) }
          catch (error) { console.log(error.code) }
        }
        for (const path of ['/tmp/api-script-was-here', process.cwd() + '/x']) {
          try { fs.writeFileSync(path, 'x'); console.log('wrote', path) } catch (error) { console.log(error.code) }
        }
        try { process.getBuiltinModule('node:child_process').spawnSync('true'); console.log('spawned') }
        catch (error) { console.log(error.code) }`,
    });
    expect(lines).toEqual(Array.from({ length: 7 }, () => 'info setup: ERR_ACCESS_DENIED'));
  });

  test('many runs at once: never more than the slots, all of them served', async () => {
    let most = 0;
    const runs = Array.from({ length: 12 }, () =>
      scripted.run(
        {
          setup: `console.log('here'); await new Promise((resolve) => setTimeout(resolve, 50))`,
          teardown: '',
        },
        {
          onLine: () => {
            most = Math.max(most, childSlots.taken.api);
          },
        },
      ),
    );
    const ends = await Promise.all(runs);
    expect(ends.map(({ base }) => base.ok)).toEqual(Array.from({ length: 12 }, () => true));
    expect(most).toBeGreaterThan(0);
    expect(childSlots.taken.api).toBe(0);
  });

  test('targets that take long hold up no other check, and lose no variables', async () => {
    const count = 2 * (childSlots.total + 1);
    const held: ServerResponse[] = [];
    // It answers when all have asked: with a slot held through each request, that would never be.
    const target = await listening(
      createServer((_request, response) => {
        held.push(response);
        if (held.length === count) for (const each of held) each.end('{}');
      }),
    );
    const runs = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        scripted.run(
          { setup: `process.env.N = '${index}'`, teardown: `console.log(process.env.N)` },
          { request: { url: `http://127.0.0.1:${target.port}/` } },
        ),
      ),
    );
    await target.close();
    expect(runs.map(({ base, lines }) => [base.ok, ...lines])).toEqual(
      Array.from({ length: count }, (_, index) => [true, `info teardown: ${index}`]),
    );
  });

  test('cancelled while it waits for a slot', async () => {
    const releases = [];
    const before = childSlots.waiting.api;
    for (;;) {
      const controller = new AbortController();
      const slot = childSlots.take('api', controller.signal);
      if (childSlots.waiting.api > before) {
        controller.abort(new Error('full'));
        await slot.catch(() => undefined);
        break;
      }
      releases.push(await slot);
    }
    const controller = new AbortController();
    const cancelled = new JobAborted('cancelled');
    const run = scripted.run({ setup: '' }, { signal: controller.signal });
    const late = scripted.run({ setup: '' }, { signal: AbortSignal.abort(new JobAborted('deadline')) });
    controller.abort(cancelled);
    await expect(run).rejects.toBe(cancelled);
    await expect(late).rejects.toMatchObject({ code: 'INTERNAL' });
    for (const release of releases) release();
    expect((await scripted.run({ setup: '' })).base).toEqual({ ok: true });
  });
});
