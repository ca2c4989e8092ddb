import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeBrowser } from '../../src/executors/browser.ts';
import { executeMultiStep } from '../../src/executors/multi-step.ts';
import type { Executor } from '../../src/executors/interface/executor.ts';
import type { JobType } from '../../src/protocol/check-types.ts';
import type { Result } from '../../src/protocol/result.ts';
import { builtProgram } from '../helpers/build.ts';
import { hasPlaywright } from '../helpers/scripts/playwright.ts';
import { scriptJob, startScripts, type ScriptBench } from '../helpers/scripts/script-jobs.ts';
import { openEverything } from '../secrets/open-everything.ts';
import { seededRandom } from '../secrets/through.ts';
import { runAsAgent } from './run-as-agent.ts';

/** A key of several lines, and headers that a script reads, printed in every way by a real script: nothing comes through. */

const random = seededRandom(13);
const letters = (length: number): string =>
  Array.from({ length }, () => 'abcdefghijkmnpqrstuvwxyzABCDEFGH23456789'[Math.floor(random() * 40)]).join(
    '',
  );
const lines = Array.from({ length: 6 }, () => letters(64));
const key = JSON.stringify(
  {
    private_key_id: letters(40),
    private_key: ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n'),
  },
  null,
  2,
);
const cookie = `${letters(20)}-in-a-cookie`;
const apiKey = `${letters(20)}-in-a-header`;

const script = (fixture: string, opened: string): string => `
  import { test, expect } from '@playwright/test';
  import { inspect } from 'node:util';
  test('prints a key', async ({ ${fixture} }) => {
    const text = process.env.ACCOUNT;
    const { private_key: pem } = JSON.parse(text);
    console.log(text);
    console.log(inspect({ account: JSON.parse(text), pem }, { colors: true }));
    for (const line of pem.split('\\n')) console.error('> ' + line);
    const response = await ${opened};
    const headers = await (response.allHeaders ?? response.headers).call(response);
    console.log(inspect(headers, { colors: true }), headers['x-api-key'], JSON.stringify(await response.headersArray()));
    await test.step('step ' + headers['x-api-key'] + pem, async () => {
      expect.soft(pem.split('\\n')).toEqual(['other', headers['set-cookie']]);
      expect.soft(text).toBe('{\\n  "private_key": "another"\\n}');
    });
    throw new Error('refused: ' + pem + inspect(headers));
  });`;

/** Pieces of 8 characters of the secrets in the bytes, as they are and in base64. */
function piecesIn(bytes: Buffer): string[] {
  const text = bytes.toString('latin1');
  const decoded = (text.match(/[A-Za-z0-9+/]{24,}/g) ?? []).flatMap((run) =>
    [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString('latin1')),
  );
  const all = [text, ...decoded].join('\n');
  const found: string[] = [];
  for (const secret of [...lines, cookie.slice(0, 20), apiKey.slice(0, 20)]) {
    for (let at = 0; at + 8 <= secret.length; at++) {
      if (all.includes(secret.slice(at, at + 8))) found.push(secret.slice(at, at + 8));
    }
  }
  return found;
}

describe.runIf(hasPlaywright)('keys and headers that a script prints', { timeout: 120_000 }, () => {
  let bench: ScriptBench;
  let server: Server;
  let url: string;
  let folder: string;

  beforeAll(async () => {
    await builtProgram();
    bench = startScripts();
    folder = mkdtempSync(join(tmpdir(), 'printed-keys-'));
    server = createServer((_request, response) => {
      response.setHeader('set-cookie', `sid=${cookie}; Path=/`).setHeader('x-api-key', apiKey).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
  }, 180_000);

  afterAll(async () => {
    await bench.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const executors = { BROWSER: executeBrowser, MULTI_STEP: executeMultiStep };

  /** Runs a check as the agent does; `made`: pieces of the secrets in its files before they are scrubbed. */
  async function run(
    type: keyof typeof executors,
    content: string,
  ): Promise<{ json: string; result: Result; out: string; made: string[] }> {
    const made: string[] = [];
    const out = mkdtempSync(join(folder, 'out-'));
    const job = scriptJob(type, content, {
      deadline: new Date(Date.now() + 100_000).toISOString(),
      testSession: true,
      environmentVariables: [{ key: 'ACCOUNT', value: key, locked: false, secret: true }],
    });
    const results = await runAsAgent(job, {
      execute: executors[type] as Executor<JobType>, // the executor of this job's type
      scripts: bench.scripts,
      folder,
      out,
      onFiles: (files) => {
        for (const { name, path } of files) {
          made.push(...openEverything(name, readFileSync(path)).flatMap(({ bytes }) => piecesIn(bytes)));
        }
      },
    });
    const [json = ''] = results;
    return { json, result: JSON.parse(json) as Result, out, made }; // what runJob has just serialised
  }

  test.each(['BROWSER', 'MULTI_STEP'] as const)('%s: no piece of them leaves', async (type) => {
    const [fixture, opened] =
      type === 'BROWSER' ? ['page', `page.goto('${url}/')`] : ['request', `request.get('${url}/')`];
    const { json, result, out, made } = await run(type, script(fixture, opened));
    // The control: the same search finds them all in what the run made.
    expect(new Set(made).size).toBeGreaterThan(300);
    expect(result).toMatchObject({ status: 'failed', reason: { code: 'TEST_FAILED' } });
    expect(result.log.map(({ msg }) => msg).join('\n')).toContain('*********');
    expect(piecesIn(Buffer.from(json))).toEqual([]);
    const files = readdirSync(out);
    expect(files.some((name) => name.endsWith('.zip'))).toBe(true);
    for (const name of files) {
      for (const place of openEverything(name, readFileSync(join(out, name)))) {
        expect({ in: place.name, pieces: piecesIn(place.bytes) }).toEqual({ in: place.name, pieces: [] });
      }
    }
  });

  test('with more secrets than can be searched for, only status, times and the code of the reason leave', async () => {
    const { json, result, out } = await run(
      'MULTI_STEP',
      `
      const { test } = require('@playwright/test');
      test('many', () => {
        for (let i = 0; i < 9; i++) process.env['SERVICE_SECRET_' + i] = String(i).repeat(130_000);
        console.log('walnut in the log');
        throw new Error('walnut in the error');
      });`,
    );
    expect(json).not.toContain('walnut');
    expect(result).toMatchObject({
      status: 'failed',
      reason: { code: 'TEST_FAILED' },
      details: {},
      assertions: [],
    });
    expect(result.reason?.message).toMatch(
      /were withheld: the run added more than 5000 secrets, or more than/,
    );
    expect(result.log).toHaveLength(1);
    expect(new Set(result.artifacts.map(({ state }) => state))).toEqual(new Set(['refused']));
    expect(readdirSync(out)).toEqual([]);
  });

  test.each([
    ['set in a test', `process.env['SERVICE_SECRET_NUT'] = nut;`],
    ['named in a test', `require('@location-agent/helpers').secret(nut);`],
  ])('a secret whose message is lost with its process is masked: %s', async (_name, registers) => {
    const { json } = await run(
      'MULTI_STEP',
      `
      const { test } = require('@playwright/test');
      const nut = ['black', 'walnut'].join('-');
      test('loses a message', async () => {
        const send = process.send;
        process.send = (message, ...rest) =>
          message.method === '__location_agent__' ? true : send.call(process, message, ...rest);
        ${registers}
        throw new Error('the ' + nut + ' is lost');
      });`,
    );
    expect(json).not.toContain('black-walnut');
    expect(json).toContain('is lost');
  });

  test('a secret that is set again and again is one secret', async () => {
    const { json, result } = await run(
      'MULTI_STEP',
      `
      const { test } = require('@playwright/test');
      test('sets it', () => {
        for (let i = 0; i < 6000; i++) process.env['SERVICE_SECRET_NUT'] = 'black-walnut'.repeat(150);
        console.log('set: ' + process.env['SERVICE_SECRET_NUT']);
      });`,
    );
    expect(result).toMatchObject({ status: 'passed', reason: null });
    expect(json).not.toContain('walnut');
  });

  test.each([
    [
      'more secrets than a process may register',
      `for (let i = 0; i < 1001; i++) secret('walnut ' + i);`,
      'a test process registered more than 1000 secrets',
    ],
    [
      'a secret that is too long',
      `secret('walnut'.padEnd(131_073, 'x'));`,
      'a test registered a secret of more than 128 KiB',
    ],
    [
      'a variable that is too long',
      `process.env.SERVICE_SECRET_LONG = 'walnut'.padEnd(131_073, 'x');`,
      'a test registered a secret of more than 128 KiB',
    ],
  ])('%s: the run fails, and its texts and files stay', async (_name, registers, why) => {
    const { json, result, out } = await run(
      'MULTI_STEP',
      `
      const { test } = require('@playwright/test');
      const { secret } = require('@location-agent/helpers');
      test('walnut', async () => {
        ${registers}
        console.log('walnut in the log');
        throw new Error('walnut in the error');
      });`,
    );
    expect(json).not.toContain('walnut');
    expect(result).toMatchObject({
      status: 'failed',
      reason: {
        code: 'SCRIPT_KILLED',
        owner: 'script',
        message: expect.stringContaining(`were withheld: ${why}`),
      },
      details: {},
      assertions: [],
    });
    expect(result.log).toHaveLength(1);
    expect(readdirSync(out)).toEqual([]);
  });
});
