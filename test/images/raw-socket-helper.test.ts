import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type Agent } from './containers.ts';
import { docker } from './engine.ts';
import { suiteEnvironment, uploadSuite } from './suite-bundle.ts';
import { newLocation, runCheck, targets, told, untilHeld, world, type CheckKind } from './world.ts';

/** The program that opens raw sockets for the agent opens none for what customers' code starts, also where NET_RAW is granted. */

const slug = 'raw-socket-helper';
let agent: Agent;
beforeAll(async () => {
  const { key } = await newLocation(slug);
  // As generous as Docker is by itself: the helper's file capability counts for whoever has no no_new_privs.
  agent = await startAgent({ image: 'full', network: world.network, key, env: suiteEnvironment });
});
afterAll(() => agent.remove());

/**
 * What the helper hands over for each kind of socket: the errno, 0 being an open socket; or why it could not be started. Then
 * which processes that may gain privileges this one could turn into its own through their memory, whether it may gain any at
 * all, and which capabilities it has.
 */
const probe = `
  const { spawn } = await import('node:child_process');
  const { closeSync, openSync, readdirSync, readFileSync } = await import('node:fs');
  const ask = (kind) => new Promise((resolve) => {
    let child;
    try {
      child = spawn('/app/build/native/raw-socket', [kind], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
    } catch (error) { return resolve(String(error.code)); }
    child.on('error', (error) => resolve(String(error.code)));
    let answer = null;
    child.stdio[3].on('data', (bytes) => { answer = bytes.readInt32LE(0); });
    child.stdio[3].on('error', () => undefined);
    child.on('close', (code) => resolve(answer === null ? 'ended with ' + code : answer));
  });
  const sockets = [];
  for (const kind of ['4', '6', 'packets']) sockets.push(await ask(kind));
  const status = readFileSync('/proc/self/status', 'latin1');
  const field = (name) => (new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status) ?? [])[1];
  const reached = readdirSync('/proc').filter((pid) => {
    if (!/^[0-9]+$/.test(pid)) return false;
    try {
      if (!/^NoNewPrivs:\\s*0/m.test(readFileSync('/proc/' + pid + '/status', 'latin1'))) return false;
      closeSync(openSync('/proc/' + pid + '/mem', 'r+'));
      return true;
    } catch { return false; }
  });
  const found = { sockets, reached, noNewPrivs: field('NoNewPrivs'), effective: field('CapEff') };
`;

type Found = { sockets: (number | string)[]; noNewPrivs: string; effective: string };
const isShut =
  'found.noNewPrivs === "1" && Number("0x" + found.effective) === 0 && !found.sockets.includes(0) && found.reached.length === 0';
const spec = `
  import { expect, test } from '@playwright/test';
  test('asks the helper', async () => {
    ${probe}
    if (!(${isShut})) throw new Error('not shut: ' + JSON.stringify(found));
  });`;

test('the agent and processes with its privileges get all three', async () => {
  const program = `${probe} process.stdout.write(JSON.stringify(found));`;
  const answer = await docker('exec', agent.id, 'node', '--input-type=module', '--eval', program);
  expect((JSON.parse(answer) as Found).sockets).toEqual([0, 0, 0]); // the program's own
});

test.each<CheckKind>(['browser', 'multistep'])('a %s check gets none', async (kind) => {
  const result = await runCheck(kind, slug, { script: spec });
  expect(result.status, told(result)).toBe('passed');
});

test('a suite and its install scripts get none', async () => {
  const codeBundlePath = await uploadSuite({
    'a.spec.ts': spec,
    'while-installed.mjs': `${probe}
      if (!(${isShut})) { console.error('not shut: ' + JSON.stringify(found)); process.exit(1); }`,
  });
  const result = await runCheck('playwright', slug, {
    codeBundlePath,
    installCommand: 'node while-installed.mjs && npm ci',
  });
  expect(result.status, told(result)).toBe('passed');
});

test('while check scripts run, only tini, the agent and its launchers may gain privileges', async () => {
  const visit = `
    import { test } from '@playwright/test';
    test('stays', async ({ page }) => { await page.goto('http://targets/hold/page'); });`;
  const runs = Promise.all([
    runCheck('browser', slug, { name: 'stays on a page', script: visit }),
    runCheck('api', slug, {
      name: 'stays in its setup',
      request: { url: 'http://targets/ok' },
      localSetupScript: `await require('axios').get('http://targets/hold/setup');`,
    }),
  ]);
  await Promise.all([untilHeld('page'), untilHeld('setup')]);
  const program = `
    const { readdirSync, readFileSync } = require('node:fs');
    const read = (pid, file) => { try { return readFileSync('/proc/' + pid + '/' + file, 'latin1'); } catch { return ''; } };
    const all = readdirSync('/proc').filter((pid) => /^[0-9]+$/.test(pid) && Number(pid) !== process.pid);
    const free = all.filter((pid) => /^NoNewPrivs:\\s*0/m.test(read(pid, 'status')));
    const told = free.map((pid) => read(pid, 'cmdline').replaceAll('\\0', ' ').trim());
    process.stdout.write(JSON.stringify({ all: all.length, free: told }));`;
  const answer = await docker('exec', agent.id, 'node', '--eval', program);
  await Promise.all([targets('/release/page'), targets('/release/setup')]);
  const { all, free } = JSON.parse(answer) as { all: number; free: string[] }; // the program's own
  // A launcher stays with each process that it has confined, to kill all its children.
  expect(free.filter((command) => !command.startsWith('/app/build/native/launcher '))).toEqual([
    'tini -- location-agent start',
    '/usr/local/bin/node /usr/local/bin/location-agent start',
  ]);
  expect(all).toBeGreaterThan(4);
  for (const result of await runs) expect(result.status, told(result)).toBe('passed');
});
