import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runService } from '../../src/commands/service.ts';
import { readServiceConfig } from '../../src/config/service.ts';
import { FatalError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { startService, type RunningService } from '../../src/service/service.ts';
import { fillDataDir } from '../helpers/service/database.ts';

/** The whole service as it starts for real: database, first account, HTTP, scheduler, agents' routes. */

let folder = '';
let service: RunningService;
const log = createLog({ level: 'ERROR', scrub: (line) => line });
const configOf = (name: string, port = '0') =>
  readServiceConfig({ SERVICE_DATA_DIR: join(folder, name), SERVICE_PORT: port });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'service-'));
  // One that makes its database is in test/e2e/main-job.test.ts.
  await fillDataDir(join(folder, 'first'));
  await fillDataDir(join(folder, 'second'));
  service = await startService({ config: configOf('first'), log });
}, 180_000);
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

async function get(path: string, key?: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${service.url}${path}`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });
  return { status: response.status, body: await response.json() };
}

describe('startService', () => {
  test('answers, and its first account has an API key and a location', async () => {
    expect(service.keysFile).toBe(join(folder, 'first', 'keys.json'));
    expect((await stat(join(folder, 'first', 'keys.json'))).mode & 0o777).toBe(0o600);
    expect((await get('/health')).body).toMatchObject({ state: 'running' });
    const { keys } = service;
    expect((await get('/v1/accounts/me', keys?.apiKey)).body).toMatchObject({ id: service.accountId });
    expect((await get('/v1/private-locations', keys?.apiKey)).body).toMatchObject([
      { slugName: keys?.locationSlug, keys: [{ maskedKey: `...${keys?.locationKey.slice(-4)}` }] },
    ]);
  });

  test('agents are let in with the key of the location only', async () => {
    const claim = async (key: string) => {
      const response = await fetch(`${service.url}/agent/v1/jobs/claim`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{}',
      });
      return { status: response.status, body: await response.json() };
    };
    expect(await claim(service.keys?.apiKey ?? '')).toMatchObject({ status: 401, body: { attributes: {} } });
    expect(await claim(service.keys?.locationKey ?? '')).toMatchObject({ status: 400 });
  });

  test('a port in use is reported in one clear line, and nothing stays open', async () => {
    const { port } = new URL(service.url);
    const config = configOf('second', port);
    const refusal = {
      code: 'PORT_IN_USE',
      message: `127.0.0.1:${port} is in use by another program: stop it, or set SERVICE_PORT to another port (0 = any free port)`,
      exitCode: 2,
    };
    for (let time = 1; time <= 2; time += 1) {
      // The second time shows that the first has let go of the database.
      const error = await startService({ config, log }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(FatalError);
      expect(error).toMatchObject(refusal);
    }
  }, 60_000);
});

describe('runService', () => {
  test('prints the ready line without keys, and exits on SIGTERM', async () => {
    const lines: string[] = [];
    let ready: () => void = () => undefined;
    const isReady = new Promise<void>((resolve) => (ready = resolve));
    const env = { SERVICE_DATA_DIR: join(folder, 'second'), SERVICE_PORT: '0', LOG_LEVEL: 'ERROR' };
    const ended = runService(env, {
      stdout: (text) => {
        lines.push(text);
        ready();
      },
    });
    await isReady;
    const line = JSON.parse(lines[0] ?? '') as { serviceUrl: string; accountId: string }; // our own line
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith('}\n')).toBe(true);
    expect(line).toEqual({
      ready: true,
      serviceUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      accountId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      apiKey: null,
      locationKey: null,
      agentHealthUrl: null,
      webUrl: `${line.serviceUrl}/`,
      keysFile: join(folder, 'second', 'keys.json'),
    });
    expect((await fetch(`${line.serviceUrl}/health`)).status).toBe(200);
    process.emit('SIGTERM');
    expect(await ended).toBe(0);
    await expect(fetch(`${line.serviceUrl}/health`)).rejects.toThrow('fetch failed');
  }, 60_000);
});
