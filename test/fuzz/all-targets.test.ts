import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { addSpent, keepInput, keptInputs } from './engine/kept.ts';
import { runLoop } from './engine/loop.ts';
import type { Target } from './engine/target.ts';

/**
 * A short run of every fuzz target: the same inputs each time, and so many that the whole file takes seconds.
 * `npm run fuzz` runs them for longer, guided by coverage.
 */

const folder = new URL('targets/', import.meta.url);
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
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
  'notification-answers',
  'starttls',
  'dns-stream',
  'project-files',
  'registry-settings',
  'route-answers',
  'ssl-certificates',
  'cookies-and-pings',
  'agent-settings',
  'probe-config',
  'probe-dialogue',
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

test('--corpus keeps the inputs that reached new code, and the sum of all runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-corpus-'));
  try {
    expect(keptInputs(folder)).toEqual([]);
    for (const text of ['a', 'b', 'a']) keepInput(folder, Buffer.from(text));
    addSpent(folder, { seconds: 60, executions: 10 });
    expect(addSpent(folder, { seconds: 30, executions: 5 })).toEqual({
      runs: 2,
      seconds: 90,
      executions: 15,
    });
    expect(keptInputs(folder).map(String).sort()).toEqual(['a', 'b']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('every target has a name of its own and seeds to start from', async () => {
  expect(new Set(targets.map(({ name }) => name)).size).toBe(targets.length);
  for (const { name, seeds } of targets) {
    if (name.startsWith('scrub-')) continue; // scrubbing.test.ts makes their inputs
    expect((await seeds?.())?.length, name).toBeGreaterThan(1);
  }
});
