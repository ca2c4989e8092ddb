import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { images, startAgent, type Image } from './containers.ts';
import { docker, dockerRun, run } from './engine.ts';
import { suiteEnvironment, uploadSuite } from './suite-bundle.ts';
import { newLocation, runCheck, told, world } from './world.ts';

/** What the images are: sizes, memory, start, labels, and what they do not carry. */

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const megabyte = 1e6;
type Measured = { name: Image; bytes: number; readyMs: number; startsMs: number[]; rssBytes: number };

/**
 * Limits of size and memory, in bytes, hold as they are. 1 s and 2 s to readiness are those of `node scripts/images.mjs` on a machine
 * with nothing else to do; here other tests share it, so the best of three may take four times as long.
 */
const limits = {
  uptime: { bytes: 200 * megabyte, rssBytes: 110 * megabyte, readyMs: 4_000 },
  full: { bytes: 2000 * megabyte, rssBytes: Infinity, readyMs: 8_000 },
};

test('sizes, memory and the time to readiness', { timeout: 240_000 }, async () => {
  const script = join(root, 'scripts/images.mjs');
  const args = [script, '--no-build', '--json', '--starts', '3', ...Object.keys(limits)];
  const { stdout, stderr } = await run(process.execPath, args, { timeoutMs: 200_000 });
  // Each layer with its size and purpose, for the log of CI.
  process.stdout.write(stderr);
  const report = JSON.parse(stdout) as Measured[]; // images.mjs writes it
  expect(report.map(({ name }) => name).toSorted()).toEqual(['full', 'uptime']);
  for (const { name, startsMs, ...measured } of report) {
    expect(startsMs, name).toHaveLength(3);
    for (const [figure, limit] of Object.entries(limits[name as keyof typeof limits]))
      expect(measured[figure as keyof typeof measured], `${name}: ${figure}`).toBeLessThanOrEqual(limit);
  }
  expect(stderr).not.toContain('NOT DESCRIBED');
});

test.each(images)('%s: user, probe, first process, labels', async (image) => {
  type Config = {
    User: string;
    Entrypoint: string[];
    Cmd: string[];
    Healthcheck: { Test: string[] };
    Volumes: object;
    Labels: { [name: string]: string };
  };
  const text = await docker('image', 'inspect', '--format', '{{json .Config}}', `location-agent:${image}`);
  const config = JSON.parse(text) as Config;
  expect(config).toMatchObject({
    User: '10001:10001',
    Entrypoint: ['tini', '--', 'location-agent'],
    Cmd: ['start'],
    Healthcheck: { Test: ['CMD', 'health-probe'] },
    Volumes: { '/var/lib/location-agent': {} },
  });
  const labels = ['title', 'description', 'licenses', 'vendor', 'version', 'revision', 'created'];
  for (const name of labels) expect(config.Labels[`org.opencontainers.image.${name}`], name).toBeTruthy();
  expect(config.Labels['org.opencontainers.image.version']).toBe(version);
});

test('full: no compiler, no package lists, one Node', async () => {
  const look = `
    for name in gcc g++ cc make python3 git; do command -v $name; done
    ls /var/lib/apt/lists
    find / -xdev -type f -name node -size +20M | wc -l`;
  const { stdout, stderr } = await dockerRun('--entrypoint', 'sh', 'location-agent:full', '-c', look);
  expect(stdout.trim(), stderr).toBe('1');
});

test('dev: a suite whose install compiles an addon runs', async () => {
  const slug = 'compiled';
  const { key } = await newLocation(slug);
  const agent = await startAgent({ image: 'dev', network: world.network, key, env: suiteEnvironment });
  try {
    const codeBundlePath = await uploadSuite({
      'binding.gyp': JSON.stringify({ targets: [{ target_name: 'own', sources: ['own.c'] }] }),
      'own.c': `#include <node_api.h>
        NAPI_MODULE_INIT() { napi_value n; napi_create_int32(env, 42, &n); return n; }`,
      'a.spec.ts': `
        import { expect, test } from '@playwright/test';
        test('own addon', () => expect(require('./build/Release/own.node')).toBe(42));`,
    });
    const result = await runCheck('playwright', slug, { codeBundlePath });
    expect(result.status, told(result)).toBe('passed');
  } finally {
    await agent.remove();
  }
});
