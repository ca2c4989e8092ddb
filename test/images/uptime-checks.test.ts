import { afterAll, beforeAll, expect, test } from 'vitest';
import { fatalLines } from '../helpers/fatal-line.ts';
import { startAgent, type Agent } from './containers.ts';
import { dockerRun } from './engine.ts';
import { uploadSuite } from './suite-bundle.ts';
import { newLocation, runCheck, told, world, type CheckKind } from './world.ts';

/** Dockerfile.uptime: the types that it has, and how it refuses all else. */

const slug = 'uptime-types';
let agent: Agent;
beforeAll(async () => {
  const { key } = await newLocation(slug);
  agent = await startAgent({ image: 'uptime', network: world.network, key });
});
afterAll(() => agent.remove());

test.each<[CheckKind, object]>([
  ['url', { request: { url: 'http://targets/ok' } }],
  ['tcp', { request: { hostname: 'targets', port: 7, data: 'hello' } }],
  ['dns', { request: { query: 'sample.test', recordType: 'A', nameServer: 'targets', port: 53 } }],
  ['icmp', { request: { hostname: 'targets', pingCount: 2 } }],
  // The targets' authority is private, and their certificate is for the name.
  ['ssl', { request: { sslConfig: { hostname: 'targets', skipChainValidation: true } } }],
  ['traceroute', { request: { url: 'targets', port: 80 } }],
  ['grpc', { request: { url: 'targets', port: 50_051, grpcConfig: { tls: false, mode: 'HEALTH' } } }],
])('%s', async (kind, fields) => {
  const result = await runCheck(kind, slug, fields);
  expect(result.status, told(result)).toBe('passed');
});

test('a failing target is reported as failed', async () => {
  const result = await runCheck('url', slug, { request: { url: 'http://targets/status/500' } });
  expect(result.status, told(result)).toBe('failed');
});

test('other types get a result with the reason', async () => {
  const script = "import { test } from '@playwright/test'; test('a', () => {});";
  const refused: [CheckKind, string, object][] = [
    ['api', 'API', { request: { url: 'http://targets/ok' } }],
    ['api', 'API', { name: 'with a script', request: { url: 'http://targets/ok' }, localSetupScript: '1;' }],
    ['playwright', 'PLAYWRIGHT', { codeBundlePath: await uploadSuite({ 'a.spec.ts': script }) }],
    ['browser', 'BROWSER', { script }],
    ['multistep', 'MULTI_STEP', { script }],
  ];
  const results = refused.map(async ([kind, type, fields]) => {
    expect(await runCheck(kind, slug, fields), kind).toMatchObject({
      status: 'errored',
      reason: {
        code: 'TYPE_UNAVAILABLE',
        message: `no connected agent of the location supports checks of type ${type}`,
      },
    });
  });
  await Promise.all(results);
});

test.each([['service'], ['dev'], ['run', 'check.json']])(
  'the command %s is refused, and the message names the alternative',
  async (...command) => {
    const { code, stderr } = await dockerRun('location-agent:uptime', ...command);
    expect(fatalLines(stderr)).toEqual([
      `CONFIGURATION: this image does not contain "${command[0]}": use the image with all check types`,
    ]);
    expect(code).toBe(2);
  },
);

test('it has no shell, no runtime, no script code, no other program than Node, tini and its own', async () => {
  const { code, stderr } = await dockerRun('--entrypoint', 'sh', 'location-agent:uptime', '-c', 'true');
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/sh/);
  const look = `
    const { readdirSync } = require('node:fs');
    console.log(JSON.stringify([readdirSync('/usr/local/bin').sort(), readdirSync('/app').sort(), readdirSync('/app/dist').sort()]));`;
  const { stdout } = await dockerRun('--entrypoint', 'node', 'location-agent:uptime', '-e', look);
  const [programs, app, dist] = JSON.parse(stdout) as string[][];
  expect(programs).toEqual(['health-probe', 'location-agent', 'node', 'tini']);
  expect(app).not.toContain('runtimes');
  expect(app).not.toContain('engines');
  expect(dist).not.toContain('service');
});
