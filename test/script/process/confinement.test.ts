import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChild } from '../../../src/script/process/child-process.ts';
import type { Child, ChildEnd, ChildLimits } from '../../../src/script/process/program.ts';
import { confinement, type Confinement } from '../../../src/script/process/confinement.ts';

/** Bounds of a child and of all that it starts, and that nothing of it stays. */

const evaluate = join(import.meta.dirname, '..', '..', 'fixtures', 'confinement', 'evaluate.mjs');
const megabyte = 1024 ** 2;
const roomy: ChildLimits = {
  memoryBytes: 512 * megabyte,
  cpuSeconds: 30,
  outputBytes: megabyte,
  diskBytes: 64 * megabyte,
  processes: 200,
};

let folder = '';
let host: Confinement;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'location-agent-confinement-'));
  host = await confinement();
  for (const line of host.missing) process.stderr.write(`not tested here: ${line}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Run = { child: Child; lines: string[]; messages: unknown[]; ask: (body: string) => Promise<unknown> };

async function start(
  options: {
    limits?: Partial<ChildLimits>;
    programs?: boolean;
    env?: { [name: string]: string };
    readable?: string[];
  } = {},
  layers: Confinement = host,
): Promise<Run> {
  const lines: string[] = [];
  const messages: unknown[] = [];
  const waiting = new Map<number, (answer: unknown) => void>();
  let last = 0;
  const child = await startChild(
    {
      node: process.execPath,
      file: evaluate,
      cwd: folder,
      env: options.env ?? { PATH: '/usr/bin:/bin' },
      readable: options.readable ?? [],
      writable: [folder],
      mayStartPrograms: options.programs ?? true,
      limits: { ...roomy, ...options.limits },
      onLine: (line) => lines.push(line),
      onMessage: (message) => {
        messages.push(message);
        const { id, value, error } = message as { id?: number; value?: unknown; error?: unknown }; // of evaluate.mjs
        waiting.get(id ?? -1)?.(error ?? value);
      },
    },
    Promise.resolve(layers),
  );
  const ask = (body: string): Promise<unknown> => {
    last += 1;
    const id = last;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      child.send({ id, body });
    });
  };
  return { child, lines, messages, ask };
}

/** Processes, anywhere, whose command line holds the mark. */
function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark);
    } catch {
      return false; // it has just ended
    }
  });
}

const withoutNamespaces = (): Confinement => ({ ...host, holds: { ...host.holds, namespaces: false } });

describe.for([
  { kind: 'with all layers', layers: () => host },
  { kind: 'without namespaces', layers: withoutNamespaces },
])('$kind', ({ layers }) => {
  const bound = (limits: Partial<ChildLimits>, body: string): Promise<ChildEnd> =>
    start({ limits }, layers()).then(async ({ child, ask }) => {
      void ask(body);
      return child.ended;
    });

  it('kills a child that uses too much memory', async ({ skip }) => {
    if (host.launcher === null) skip();
    const body = `const all = []; for (;;) { all.push(Buffer.alloc(4 << 20, 1)); await new Promise((r) => setTimeout(r, 5)); }`;
    expect(await bound({ memoryBytes: 150 * megabyte }, body)).toMatchObject({ exceeded: 'memoryBytes' });
  });

  it('counts the memory of its children, including daemons', async ({ skip }) => {
    if (host.launcher === null) skip();
    const grow = `const all = []; setInterval(() => all.push(Buffer.alloc(4 << 20, 1)), 5)`;
    const body = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grow)}], { detached: true, stdio: 'ignore' }).unref();`;
    expect(await bound({ memoryBytes: 250 * megabyte }, body)).toMatchObject({ exceeded: 'memoryBytes' });
  });

  it('kills a child that uses too much processor time', async ({ skip }) => {
    if (host.launcher === null) skip();
    expect(await bound({ cpuSeconds: 1 }, 'for (;;);')).toMatchObject({ exceeded: 'cpuSeconds' });
  });

  it('kills a child that writes too much to disk', async ({ skip }) => {
    if (host.launcher === null) skip();
    const body = `const fs = require('node:fs'); for (let n = 0; ; n++) { fs.writeFileSync('big-' + n, Buffer.alloc(1 << 20)); await new Promise((r) => setTimeout(r, 20)); }`;
    const end = await bound({ diskBytes: 8 * megabyte }, body);
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    expect(end).toMatchObject({ exceeded: 'diskBytes' });
  });

  it('kills a child that prints endlessly, and keeps the first output', async () => {
    const { child, lines, ask } = await start({ limits: { outputBytes: 100_000 } }, layers());
    void ask(
      `for (;;) { process.stdout.write('0123456789'.repeat(1000)); await new Promise((r) => setImmediate(r)); }`,
    );
    expect(await child.ended).toMatchObject({ exceeded: 'outputBytes' });
    expect(lines).toHaveLength(1);
    // With the mark of the cut.
    expect(lines[0]).toHaveLength(8192 + 1);
  });

  it('kills a fork bomb', async ({ skip }) => {
    if (host.launcher === null) skip();
    const mark = `bomb-${process.pid}-${Math.floor(performance.now())}`;
    // Ten generations: enough to be one, and no danger to the machine should it not be stopped.
    const bomb =
      '#!/bin/sh\n[ "$2" -gt 0 ] || exec sleep 5\nsh "$0" "$1" $(($2 - 1)) & sh "$0" "$1" $(($2 - 1)) & sleep 5\n';
    writeFileSync(join(folder, 'bomb.sh'), bomb);
    const body = `require('node:child_process').spawn('/bin/sh', ['bomb.sh', '${mark}', '9'], { detached: true, stdio: 'ignore' });`;
    expect(await bound({ processes: 100 }, body)).toMatchObject({ exceeded: 'processes' });
    expect(processesWith(mark)).toEqual([]);
  });

  it('leaves no orphan, however it hid', async ({ skip }) => {
    if (host.launcher === null) skip();
    const mark = `orphan-${process.pid}-${Math.floor(performance.now())}`;
    const { child, ask } = await start({}, layers());
    // A new session, its parent gone, deaf to signals, and the pipes of its parent kept open.
    const deaf = `process.on('SIGTERM', () => undefined); process.on('SIGHUP', () => undefined); console.log('here'); setInterval(() => undefined, 1000); /* ${mark} */`;
    const parent = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(deaf)}], { detached: true, stdio: ['ignore', 1, 2] }).unref();`;
    await ask(
      `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(parent)}], { stdio: ['ignore', 1, 2] });`,
    );
    expect(processesWith(mark).length).toBeGreaterThan(0);
    void ask('process.exit(7)');
    expect(await child.ended).toEqual({ code: 7, signal: null, exceeded: null });
    expect(processesWith(mark)).toEqual([]);
  });

  it('kills a child that ignores signals', async () => {
    const { child, ask } = await start({}, layers());
    await ask(`process.on('SIGTERM', () => undefined); process.on('SIGINT', () => undefined);`);
    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL', exceeded: null });
  });

  it('returns how a child exited by itself', async () => {
    const { child, ask } = await start({}, layers());
    void ask(`process.kill(process.pid, 'SIGTERM')`);
    expect(await child.ended).toEqual({ code: null, signal: 'SIGTERM', exceeded: null });
  });
});

describe('messages between agent and child', () => {
  it('gives the child the environment that was passed, and nothing else', async () => {
    const { child, ask } = await start({ env: { ONE: '1', EMPTY: '', 'ODD NAME': 'ü\n' } });
    expect(await ask('return process.env')).toEqual({ ONE: '1', EMPTY: '', 'ODD NAME': 'ü\n' });
    await child.kill();
  });

  it.for([true, false])('reads through links to readable files (programs: %s)', async (programs) => {
    const other = mkdtempSync(join(tmpdir(), 'location-agent-linked-'));
    mkdirSync(join(other, 'real'));
    writeFileSync(join(other, 'real', 'file'), 'linked');
    symlinkSync('real', join(other, 'link'));
    const { child, ask } = await start({ programs, readable: [join(other, 'link')] });
    for (const way of ['link', 'real']) {
      const path = JSON.stringify(join(other, way, 'file'));
      expect(await ask(`return require('node:fs').readFileSync(${path}, 'utf8')`)).toBe('linked');
    }
    await child.kill();
    rmSync(other, { recursive: true });
  });

  it('lets no variable reach around the permission model', async () => {
    const env = { NODE_OPTIONS: '--allow-child-process', LD_PRELOAD: '/nowhere.so', KEPT: 'yes' };
    const { child, ask, lines } = await start({ env, programs: false });
    expect(await ask('return process.env')).toEqual({ KEPT: 'yes' });
    await child.kill();
    expect(lines).toEqual([]);
  });

  it('drops a message that is too long, or none at all, and hears the next', async () => {
    const { child, ask, messages } = await start();
    await ask(`
      const fs = require('node:fs');
      const send = (text) => { const bytes = Buffer.from(text); for (let at = 0; at < bytes.length; ) { try { at += fs.writeSync(3, bytes, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; } } };
      send(JSON.stringify({ long: 'x'.repeat(5 << 20) }) + '\\n');
      send('no JSON\\n');
      send(JSON.stringify({ short: true }) + '\\n');`);
    expect(messages).toEqual([{ id: 0, value: 'ready' }, { short: true }, { id: 1, value: null }]);
    await child.kill();
  });

  it('kills a child that sends messages endlessly', async () => {
    const { child, ask } = await start({ limits: { outputBytes: 1000 } });
    void ask(`
      const fs = require('node:fs');
      const many = Buffer.from('{}\\n'.repeat(20000));
      for (;;) { try { fs.writeSync(3, many); } catch (error) { if (error.code !== 'EAGAIN') throw error; } }`);
    expect(await child.ended).toMatchObject({ exceeded: 'outputBytes' });
  });

  it.for(['without a launcher', 'when its supervisor is killed'])(
    'does not wait for other processes that hold the pipes of an exited child, %s',
    async (how, { skip }) => {
      if (host.launcher === null && how !== 'without a launcher') skip();
      const layers = how === 'without a launcher' ? { ...host, launcher: null } : withoutNamespaces();
      const { child, ask } = await start({}, layers);
      const holder = `require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: ['ignore', 1, 2] })`;
      const pid = await ask(`const held = ${holder}; held.unref(); return held.pid;`);
      if (how === 'without a launcher') void child.kill();
      else process.kill(child.pid, 'SIGKILL');
      expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
      // The holder still runs: signalling a process that has exited throws.
      expect(process.kill(Number(pid), 'SIGKILL')).toBe(true);
    },
  );

  it('kills a child that takes no messages instead of keeping them all', async () => {
    const { child, ask } = await start();
    void ask('for (;;);');
    for (let sent = 0; sent < 40; sent++) child.send({ id: 0, body: 'x'.repeat(megabyte) });
    expect(await child.ended).toMatchObject({ signal: 'SIGKILL' });
    child.send({ id: 0, body: 'nobody hears this' });
  });

  it('reports why a child cannot start', async () => {
    const options = {
      node: '/nowhere/node',
      file: evaluate,
      cwd: folder,
      env: {},
      readable: [],
      writable: [],
    };
    const callbacks = { onLine: () => undefined, onMessage: () => undefined };
    await expect(
      startChild({ ...options, ...callbacks, mayStartPrograms: true, limits: roomy }),
    ).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
  });

  it('takes the child along when the agent is killed', async ({ skip }) => {
    const { launcher } = host;
    if (launcher === null) skip();
    const mark = `left-${process.pid}-${Math.floor(performance.now())}`;
    // The agent's part is played by a Node that starts the launcher as startChild does, and is killed.
    const agent = spawn(
      process.execPath,
      [
        '-e',
        `const child = require('node:child_process').spawn(${JSON.stringify(launcher)}, ['--programs', '--', '/bin/sh', '-c', 'sleep 60; : ${mark}'], { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'], env: {} });
         child.stdio[4].write('0\\n'); child.stdio[4].on('data', (text) => process.stdout.write(text));`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await new Promise((resolve) => agent.stdout.once('data', resolve));
    expect(processesWith(mark).length).toBeGreaterThan(0);
    const closed = new Promise((resolve) => agent.stdout.once('close', resolve)); // held open by the shell too
    agent.kill('SIGKILL');
    await closed;
    const deadline = Date.now() + 5000;
    while (processesWith(mark).length > 0 && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(processesWith(mark)).toEqual([]);
  });
});

it('works without a launcher, with the remaining limits', async () => {
  const plain: Confinement = { ...host, launcher: null };
  const { child, ask } = await start({ env: { ONE: '1' }, programs: false }, plain);
  expect(await ask('return process.env')).toEqual({ ONE: '1' });
  expect(await ask(`return require('node:fs').readFileSync('/etc/hostname', 'utf8')`)).toBe(
    'ERR_ACCESS_DENIED',
  );
  expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL', exceeded: null });
  expect(existsSync(`/proc/${child.pid}`)).toBe(false);
});
