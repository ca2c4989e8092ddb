import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { runLoop } from './engine/loop.ts';
import type { Target } from './engine/target.ts';

/**
 * A short run of every fuzz target: the same inputs each time, and so many that the whole file takes seconds.
 * `npm run fuzz` runs them for longer, guided by coverage.
 */

const folder = new URL('targets/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
/** Inputs of each target; those that use files or connections for every input get fewer. */
const inputs = 150;
const slowInputs = 40;
const slow = [
  'bundle-archive',
  'run-reports',
  'scrub-artifact',
  'service-requests',
  'proxy-answers',
  'templates',
  'service-answers',
  'outbox-segment',
  'model-and-manifests',
  'http-response',
];

const targets = await Promise.all(
  files.map(async (file) => (await import(new URL(file, folder).href)) as Target), // each file is a target
);

describe('no input of', () => {
  test.each(targets.map((target) => [target.name, target] as const))(
    '%s makes it fail',
    async (name, target) => {
      const most = slow.includes(name) ? slowInputs : inputs;
      const end = await runLoop(target, { seed: 13, goesOn: (executions) => executions < most });
      const input = end.failure?.input.toString('base64') ?? '';
      expect(end.failure?.error, `input in Base64: ${input}`).toBeUndefined();
      expect(end.executions).toBeGreaterThanOrEqual(most);
    },
    60_000,
  );
});

afterAll(async () => {
  for (const target of targets) await target.close?.();
});

test('every target has a name of its own and seeds to start from', async () => {
  expect(new Set(targets.map(({ name }) => name)).size).toBe(targets.length);
  for (const { name, seeds } of targets) {
    if (name.startsWith('scrub-')) continue; // scrubbing.test.ts makes their inputs
    expect((await seeds?.())?.length, name).toBeGreaterThan(1);
  }
});
