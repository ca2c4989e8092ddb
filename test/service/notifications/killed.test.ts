import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killAll, readyLine, startProgram, until, type Program } from '../../e2e/program.ts';
import { builtProgram } from '../../helpers/build.ts';
import { startReceiver, type Receiver } from '../../helpers/notification-targets.ts';
import { startProtocolAgents, type ProtocolAgents } from '../../helpers/protocol-agents.ts';

/** The compiled service is killed as soon as it has acknowledged a failure: the alert is told after the next start. */

const apiKey = 'sk_a_key_of_this_test';
const locationKey = 'pl_a_key_of_this_test';
let folder = '';
let target: Receiver;
let agents: ProtocolAgents | undefined;
let url = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'killed-'));
  target = await startReceiver();
});
afterAll(async () => {
  await agents?.stop();
  killAll();
  await target.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<Program> {
  const program = startProgram(await builtProgram(), ['service'], {
    SERVICE_PORT: '0',
    SERVICE_DATA_DIR: folder,
    SERVICE_API_KEY: apiKey,
    SERVICE_LOCATION_KEY: locationKey,
  });
  ({ serviceUrl: url } = await readyLine(program));
  return program;
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect([path, answer.status]).toEqual([path, expect.toSatisfy((status: number) => status < 300)]);
  return (await answer.json()) as T;
}

test('a result that was acknowledged is told, whatever ends the service', { timeout: 180_000 }, async () => {
  const first = await start();
  await call('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { url: target.url, template: '{{CHECK_ID}} {{ALERT_TYPE}}' },
  });
  const { id } = await call<{ id: string }>('POST', '/v1/checks/url', {
    name: 'Shop',
    privateLocations: ['local'],
    frequency: 1440,
    request: { url: 'https://shop.example/' },
    doubleCheck: false,
  });
  agents = startProtocolAgents({
    urls: [url],
    keys: [locationKey],
    count: 1,
    slots: 5,
    runMs: 1,
    statusOf: () => 'failed',
  });
  await call('POST', '/v2/check-sessions/trigger', { target: { checkId: [id] } });
  await until(() => agents?.runs.some(({ outcome }) => outcome === 'stored'), 'the acknowledgement', 60_000);
  first.kill('SIGKILL');
  await first.exited;
  await agents.stop();

  const second = await start();
  type Logged = { id: string; status: string; alertType: string };
  const [logged, ...others] = await until(
    async () => {
      const log = await call<Logged[]>('GET', `/v1/alert-notifications?checkId=${id}`);
      return log.length > 0 && log.every(({ status }) => status === 'SUCCESS') ? log : null;
    },
    'the notification',
    60_000,
  );
  expect([logged?.alertType, others]).toEqual(['ALERT_FAILURE', []]);
  // Once, or again where it was told and the service could not note it: its id is the same.
  expect(target.received.length).toBeGreaterThan(0);
  for (const { body, headers } of target.received) {
    expect([body, headers['x-service-delivery']]).toEqual([`${id} ALERT_FAILURE`, logged?.id]);
  }
  second.kill('SIGTERM');
  expect(await second.exited).toBe(0);
});
