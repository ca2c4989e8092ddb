import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { readServiceConfig } from '../../src/config/service.ts';
import { createLog } from '../../src/log.ts';
import { packBundle } from '../../src/script/suite/pack-bundle.ts';
import { startService, type RunningService } from '../../src/service/service.ts';
import { servicePlace, type ServicePlace } from '../helpers/database.ts';
import { hasSuites } from '../helpers/suites.ts';

/**
 * A suite's way through the real service and a real agent: bundle, check, session, live log, cancel, result and files. The
 * project needs no packages, so no registry.
 */

const apiKey = 'key_of-the-test-with-suites';
const locationKey = 'pl_key-of-the-location-of-suites';
const log = createLog({ level: 'ERROR', scrub: (line) => line });
const within = { timeout: 60_000, interval: 100 };

type Fields = Record<string, unknown>;
type Session = {
  checkSessionId: string;
  status: string;
  results: Fields[];
  inProgress: { stage: string | null; log: string[] }[];
};

describe.runIf(hasSuites)('a suite through the service', { timeout: 120_000 }, () => {
  let folder: string;
  let place: ServicePlace;
  let service: RunningService;
  let agent: Agent;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'suites-service-'));
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
    mkdirSync(join(folder, 'runtimes'));
    agent = createAgent({
      config: readAgentConfig({
        API_KEY: locationKey,
        SERVICE_URL: service.url,
        AGENT_HEALTH_PORT: '0',
        AGENT_DATA_DIR: join(folder, 'agent'),
        AGENT_SHUTDOWN_GRACE_SECONDS: '5',
      }),
      log,
      version: '1.2.3',
      runtimesFolder: join(folder, 'runtimes'),
    });
    await agent.start();
  }, 120_000);
  afterAll(async () => {
    await agent.drain();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
    await place.remove();
  });

  async function api<T>(method: string, path: string, body?: Fields | Buffer): Promise<T> {
    const response = await fetch(service.url + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined
          ? {}
          : { 'content-type': Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json' }),
      },
      ...(body === undefined
        ? {}
        : { body: Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return (text === '' ? null : JSON.parse(text)) as T;
  }

  /** A check whose test command is `node test.mjs`; its id. */
  async function addSuite(name: string, program: string): Promise<string> {
    const project = join(folder, name);
    mkdirSync(project);
    const manifest = { name: 'nothing', version: '1.0.0', private: true };
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    writeFileSync(
      join(project, 'package-lock.json'),
      JSON.stringify({ ...manifest, lockfileVersion: 3, packages: {} }),
    );
    writeFileSync(join(project, 'test.mjs'), program);
    const to = join(folder, `${name}.tar.gz`);
    const packed = await packBundle({ folder: project, to });
    const bundle = await api<{ key: string; digest: string }>(
      'POST',
      '/v1/playwright-bundles',
      readFileSync(to),
    );
    expect(bundle.digest).toBe(packed.digest);
    const check = await api<{ id: string }>('POST', '/v1/checks/playwright', {
      name,
      codeBundlePath: bundle.key,
      testCommand: 'node test.mjs',
      privateLocations: ['here'],
      frequency: 1440,
      activated: true,
      environmentVariables: [{ key: 'WORD', value: 'word-of-the-check', secret: true }],
    });
    return check.id;
  }

  const read = (id: string) => api<Session>('GET', `/v2/check-sessions/${id}`);

  test('it is seen in its session while it runs; a cancel ends it, with result, log and files', async () => {
    const checkId = await addSuite(
      'endless',
      `console.log('test 1 of 20 with ' + process.env.WORD); setInterval(() => {}, 1000);`,
    );
    const { sessions } = await api<{ sessions: Session[] }>('POST', '/v2/check-sessions/trigger', {
      target: { checkId: [checkId] },
    });
    const id = sessions[0]?.checkSessionId ?? '';
    const progress = async () => (await read(id)).inProgress[0];
    await expect
      .poll(async () => (await progress())?.log.join('\n') ?? '', within)
      .toContain('test 1 of 20 with *********');
    await expect.poll(async () => (await progress())?.stage, within).toBe('test');
    const from = performance.now();
    await api('POST', `/v1/check-sessions/${id}/cancel`);
    await expect.poll(async () => (await read(id)).status, within).toBe('CANCELLED');
    // One renewal, and an end that need not be forced.
    expect(performance.now() - from).toBeLessThan(20_000);
    const { results } = await read(id);
    expect(results).toMatchObject([{ checkId, isCancelled: true, hasErrors: false, hasFailures: false }]);
    const resultId = String(results[0]?.['checkResultId']);
    const whole = JSON.stringify(await api('GET', `/v1/check-results/${checkId}/${resultId}`));
    expect(whole).not.toContain('word-of-the-check');
    const assets = async () =>
      (await api<{ name: string; url: string }[]>(
        'GET',
        `/v1/check-results/${checkId}/${resultId}/assets`,
      )) ?? [];
    await expect.poll(async () => JSON.stringify(await assets()), within).toContain('output.log');
  });
});
