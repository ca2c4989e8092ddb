import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type Agent } from './containers.ts';
import { docker } from './engine.ts';
import { suiteEnvironment, uploadSuite } from './suite-bundle.ts';
import { newLocation, runCheck, told, world, type CheckKind } from './world.ts';

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
 * whether this process or its children may gain a privilege at all, and which capabilities it has.
 */
const probe = `
  const { spawn } = await import('node:child_process');
  const { readFileSync } = await import('node:fs');
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
  const found = { sockets, noNewPrivs: field('NoNewPrivs'), effective: field('CapEff') };
`;

type Found = { sockets: (number | string)[]; noNewPrivs: string; effective: string };
const isShut =
  'found.noNewPrivs === "1" && Number("0x" + found.effective) === 0 && !found.sockets.includes(0)';
const spec = `
  import { expect, test } from '@playwright/test';
  test('asks the helper', async () => {
    ${probe}
    if (!(${isShut})) throw new Error('not shut: ' + JSON.stringify(found));
  });`;

test('the agent itself, or whoever is like it, gets all three', async () => {
  const program = `${probe} process.stdout.write(JSON.stringify(found));`;
  const answer = await docker('exec', agent.id, 'node', '--input-type=module', '--eval', program);
  expect((JSON.parse(answer) as Found).sockets).toEqual([0, 0, 0]); // the program's own
});

test.each<CheckKind>(['browser', 'multistep'])('a %s check gets none', async (kind) => {
  const result = await runCheck(kind, slug, { script: spec });
  expect(result.status, told(result)).toBe('passed');
});

test('a suite gets none, nor does what it runs when it is installed', async () => {
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
