import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiOf, until, type Api } from '../e2e/program.ts';
import { inspected, run, runName, type Said } from './engine.ts';

/** docker/compose.yaml: one command brings up PostgreSQL, the service and two agents, and checks run through all of it. */

const root = join(import.meta.dirname, '../..');
const tool = await composeTool();
/** scripts/test-images.mjs removes what bears this name, where the tests were cut off. */
const project = `image-tests-${runName}`;

/** The plugin, or the separate program of Debian 12; null = neither. */
async function composeTool(): Promise<string[] | null> {
  for (const tried of [['docker', 'compose'], ['docker-compose']]) {
    const [program = '', ...args] = tried;
    if ((await run(program, [...args, 'version'])).code === 0) return tried;
  }
  process.stderr.write('skipped here: docker/compose.yaml, which needs docker compose or docker-compose\n');
  return null;
}

describe.runIf(tool !== null)('compose', { timeout: 300_000 }, () => {
  let postgres = 'postgres:17-bookworm';
  const compose = (...args: string[]): Promise<Said> => {
    const [program = '', ...first] = tool ?? [];
    const all = [...first, '-p', project, '-f', join(root, 'docker/compose.yaml'), ...args];
    const env = { ...process.env, POSTGRES_IMAGE: postgres, SERVICE_LISTEN: '127.0.0.1:0' };
    return run(program, all, { env, timeoutMs: 240_000 });
  };

  beforeAll(async () => {
    const has = (await run('docker', ['image', 'inspect', postgres])).code === 0;
    if (!has && (await run('docker', ['pull', postgres], { timeoutMs: 60_000 })).code !== 0) {
      // No registry of images here: Debian's own.
      postgres = 'monitoring-postgres';
      const file = join(root, 'docker/postgres.Dockerfile');
      const build = ['build', '-f', file, '-t', postgres, join(root, 'docker')];
      const built = await run('docker', build, { timeoutMs: 240_000 });
      expect(built.code, built.stderr).toBe(0);
    }
  }, 300_000);
  afterAll(async () => {
    await compose('down', '--volumes', '--timeout', '1');
  }, 120_000);

  test('the whole system starts, and checks run through it', async () => {
    const up = await compose('up', '-d', '--no-build');
    expect(up.code, up.stderr).toBe(0);
    const key = (await compose('exec', '-T', 'service', 'cat', '/run/keys/api-key')).stdout.trim();
    expect(key).toMatch(/^key_/);
    const address = (await compose('port', 'service', '4400')).stdout.trim();
    const api = apiOf(`http://${address}`, key);

    type Location = { slugName: string; agentCount?: number; agents?: unknown[] };
    const connected = async () => {
      const { body } = await api<Location[]>('GET', '/v1/private-locations');
      const [location] = body;
      const count = location?.agentCount ?? location?.agents?.length ?? 0;
      return count >= 2 ? location : null;
    };
    const { slugName } = await until(connected, 'two agents', 120_000);
    for (const [kind, fields] of [
      ['url', { request: { url: 'http://service:4400/health' } }],
      ['icmp', { request: { hostname: 'service', pingCount: 1 } }],
      [
        'browser',
        {
          script: `import { expect, test } from '@playwright/test';
            test('the pages of the service', async ({ page }) => {
              await page.goto('http://service:4400/');
              await expect(page).toHaveTitle(/./);
            });`,
        },
      ],
    ] as const)
      expect(await runOnce(api, kind, { privateLocations: [slugName], ...fields }), kind).toBe('passed');

    // Agents have no way to the database.
    const out = await compose(
      'exec',
      '-T',
      'agent',
      'node',
      '-e',
      "require('dns').lookup('postgres', (e) => console.log(e?.code))",
    );
    expect(out.stdout.trim()).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  test('a killed service restarts, and a stopped system keeps its keys and checks', async () => {
    const ready = async () => {
      const key = (await compose('exec', '-T', 'service', 'cat', '/run/keys/api-key')).stdout.trim();
      const address = (await compose('port', 'service', '4400')).stdout.trim();
      if (key === '' || address === '') return null;
      const checks = await apiOf(`http://${address}`, key)<{ name: string }[]>('GET', '/v1/checks').catch(
        () => null,
      );
      if (checks?.status !== 200) return null;
      return { key, names: checks.body.map(({ name }) => name).toSorted((a, b) => a.localeCompare(b)) };
    };
    const before = await until(ready, 'the service', 60_000);
    expect(before.names).toEqual(['browser', 'icmp', 'url']);
    const id = (await compose('ps', '-q', 'service')).stdout.trim();
    const startedAt = () => inspected(id, '{{.State.StartedAt}}');
    const first = await startedAt();
    // tini ends with the one child that it has.
    const kill = `
      const { readFileSync } = require('node:fs');
      for (const pid of readFileSync('/proc/1/task/1/children', 'latin1').trim().split(' ')) process.kill(Number(pid), 'SIGKILL');`;
    await compose('exec', '-T', 'service', 'node', '-e', kill);
    await until(async () => (await startedAt()) !== first, 'another start', 60_000);
    expect(await until(ready, 'the service again', 60_000)).toEqual(before);

    expect((await compose('down', '--timeout', '20')).code).toBe(0);
    const up = await compose('up', '-d', '--no-build');
    expect(up.code, up.stderr).toBe(0);
    expect(await until(ready, 'the system again', 60_000)).toEqual(before);
  });
});

/** Status of one run of a new check. */
async function runOnce(api: Api, kind: string, fields: object): Promise<string | undefined> {
  const check = { name: kind, frequency: 1440, doubleCheck: false, ...fields };
  const made = await api<{ id: string }>('POST', `/v1/checks/${kind}`, check);
  expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
  const target = { target: { checkId: [made.body.id] } };
  expect(await api('POST', '/v2/check-sessions/trigger', target)).toMatchObject({ status: 201 });
  const results = async () => {
    const { body } = await api<{ status: string }[]>('GET', `/v1/check-results/${made.body.id}?limit=1`);
    return body[0];
  };
  return (await until(results, `a result of ${kind}`, 120_000)).status;
}
