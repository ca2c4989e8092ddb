import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/** The workflows: they call what this repository has, may do no more than they must, and take others' actions at a fixed state. */

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, '.github', 'workflows');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
}; // our own file

type Step = { uses?: string; run?: string; with?: Record<string, unknown> };
type Job = {
  uses?: string;
  steps?: Step[];
  permissions?: Record<string, string>;
  'timeout-minutes'?: number;
  'runs-on'?: string;
};
type Workflow = {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
};

describe.each(readdirSync(folder))('%s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  const workflow = parse(text, { strict: true, uniqueKeys: true }) as Workflow; // looked at next
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps ?? []);

  test('calls only scripts that are here', () => {
    for (const { run } of steps.filter((step) => step.run !== undefined)) {
      const words = (run ?? '').split(' ');
      // In a container the checkout belongs to somebody else.
      if (run === "git config --global --add safe.directory '*'") continue;
      if (words[0] === 'node') expect(existsSync(join(root, words[1] ?? '')), run).toBe(true);
      else if (words[0] === 'npm')
        expect(scripts[words[1] === 'run' ? (words[2] ?? '') : (words[1] ?? '')], run).toBeDefined();
      else expect(statSync(join(root, words[0] ?? '')).mode & 0o100, run).toBe(0o100);
      // What a push brings (names of branches, titles) must not become part of a command.
      expect(run).not.toContain('${{');
      expect(run).not.toMatch(/[\n;|&]/);
    }
    for (const { uses } of jobs.filter((job) => job.uses !== undefined)) {
      expect(existsSync(join(root, uses ?? '')), uses).toBe(true);
    }
  });

  test("others' actions are pinned, each with its version beside it", () => {
    const lines = text.split('\n').filter((line) => /uses: [^.]/.test(line));
    expect(lines.length).toBe(steps.filter(({ uses }) => uses !== undefined).length);
    for (const line of lines) expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('it has minimal permissions and a timeout', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const [job, { permissions = {}, uses, 'timeout-minutes': minutes, 'runs-on': on }] of Object.entries(
      workflow.jobs,
    )) {
      const writes = Object.entries(permissions).filter(([, level]) => level !== 'read');
      expect(writes, job).toEqual(
        job === 'publish'
          ? [
              ['contents', 'write'],
              ['packages', 'write'],
              ['id-token', 'write'],
            ]
          : [],
      );
      if (uses !== undefined) continue;
      expect(minutes, job).toBeLessThanOrEqual(180);
      expect(on, job).not.toMatch(/latest|self-hosted/);
    }
    for (const step of steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))) {
      expect(step.with?.['persist-credentials']).toBe(false);
    }
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target');
    const secrets = [...text.matchAll(/secrets\.(\w+)/g)].map(([, secret]) => secret);
    expect(secrets.filter((secret) => secret !== 'GITHUB_TOKEN')).toEqual([]);
  });
});

test('a release contains the tested commit, for both architectures, with all its files', () => {
  const { jobs } = parse(readFileSync(join(folder, 'release.yml'), 'utf8')) as Workflow; // looked at above
  expect(jobs['ci']?.uses).toBe('./.github/workflows/ci.yml');
  const publish = jobs['publish'] as Job & { needs: string };
  expect(publish.needs).toBe('ci');
  const runs = (publish.steps ?? []).flatMap(({ run }) => run ?? []);
  expect(runs.map((run) => run.split(' ').slice(1, 3).join(' '))).toEqual([
    'scripts/release.mjs check',
    'scripts/setup.mjs build',
    'scripts/release.mjs images',
    'scripts/release.mjs pack',
    'scripts/release.mjs publish',
  ]);
});
