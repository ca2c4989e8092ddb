import { mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { readServiceConfig } from '../../src/config/service.ts';
import { createLog } from '../../src/log.ts';
import { startService, type RunningService } from '../../src/service/service.ts';
import { servicePlace, type ServicePlace } from '../helpers/service/database.ts';

/** The agent and the real service in one process. */

const apiKey = 'key_of-the-test-with-the-service';
const locationKey = 'pl_key-of-the-test-location';
let folder: string;
let place: ServicePlace;
let service: RunningService;
let agent: Agent;
let port: number;
const log = createLog({ level: 'ERROR', scrub: (line) => line });
const target = net.createServer((socket) => socket.on('error', () => undefined).end('hello'));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'with-service-'));
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  port = (target.address() as AddressInfo).port;
  place = await servicePlace();
  service = await startService({
    config: readServiceConfig({
      SERVICE_PORT: '0',
      // Tests ask again and again.
      SERVICE_RATE_LIMIT: '0',
      ...place.env,
      SERVICE_API_KEY: apiKey,
      SERVICE_LOCATION_KEY: locationKey,
      SERVICE_LOCATION_SLUG: 'here',
    }),
    log,
  });
  agent = createAgent({ config: configWith(locationKey), log, version: '1.2.3' });
  await agent.start();
}, 60_000);
afterAll(async () => {
  await agent.drain();
  await service.close();
  target.close();
  rmSync(folder, { recursive: true, force: true });
  await place.remove();
});

function configWith(key: string) {
  return readAgentConfig({
    API_KEY: key,
    SERVICE_URL: service.url,
    AGENT_HEALTH_PORT: '0',
    SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,::/0,127.0.0.0/8,::1',
    AGENT_DATA_DIR: join(folder, 'agent'),
    AGENT_SHUTDOWN_GRACE_SECONDS: '5',
  });
}

async function api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return JSON.parse(text) as Record<string, unknown>;
}

async function resultsOf(checkId: unknown, count: number): Promise<Record<string, unknown>[]> {
  const end = Date.now() + 40_000;
  for (;;) {
    const found = (await api('GET', `/v1/check-results/${String(checkId)}?resultType=ALL`)) as unknown;
    const results = found as Record<string, unknown>[]; // the API lists results in an array
    if (results.length >= count) return results;
    if (Date.now() > end) throw new Error(`only ${results.length} results`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const check = (more: object) => ({
  name: 'a port',
  frequency: 0,
  frequencyOffset: 10,
  privateLocations: ['here'],
  request: { hostname: '127.0.0.1', port },
  ...more,
});

test('scheduled checks produce results', async () => {
  const passing = await api('POST', '/v1/checks/tcp', check({ name: 'passes' }));
  const failing = await api(
    'POST',
    '/v1/checks/tcp',
    check({
      name: 'fails twice',
      shouldFail: true,
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1, sameRegion: true },
    }),
  );
  const [passed] = await resultsOf(passing['id'], 1);
  expect(passed).toMatchObject({
    hasFailures: false,
    hasErrors: false,
    resultType: 'FINAL',
    runLocation: 'here',
  });
  const both = (await resultsOf(failing['id'], 2)).slice(-2);
  expect(new Set(both.map(({ resultType }) => resultType))).toEqual(new Set(['ATTEMPT', 'FINAL']));
  expect(new Set(both.map(({ sequenceId }) => sequenceId)).size).toBe(1);
}, 60_000);

test('the agent exits when the service does not know its key', async () => {
  const stranger = createAgent({ config: configWith('pl_unknown-to-this-service'), log, version: '1.2.3' });
  await stranger.start();
  expect(await stranger.failed).toMatchObject({ code: 'KEY_REFUSED', exitCode: 77 });
  await stranger.stop();
});
