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
  needs?: string | string[];
  strategy?: { matrix: Record<string, (string | number)[]> };
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
      const runners = on === '${{ matrix.runner }}' ? workflow.jobs[job]?.strategy?.matrix['runner'] : [on];
      for (const runner of runners ?? []) expect(runner, job).toMatch(/^ubuntu-\d\d\.\d\d(?:-arm)?$/);
      expect(runners?.length, job).toBeGreaterThan(0);
    }
    for (const step of steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))) {
      expect(step.with?.['persist-credentials']).toBe(false);
    }
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target');
    const secrets = [...text.matchAll(/secrets\.(\w+)/g)].map(([, secret]) => secret);
    expect(secrets.filter((secret) => secret !== 'GITHUB_TOKEN')).toEqual([]);
  });
});

const jobsOf = (name: string) => (parse(readFileSync(join(folder, name), 'utf8')) as Workflow).jobs; // looked at above
const runsOf = ({ steps = [] }: Job): string[] =>
  steps.flatMap(({ run }) => run ?? []).map((run) => run.split(' ').slice(1, 3).join(' '));

test('a release contains the tested commit, for both architectures, with all its files', () => {
  const { ci, debian, publish } = jobsOf('release.yml');
  expect(ci?.uses).toBe('./.github/workflows/ci.yml');
  expect([debian?.needs, publish?.needs]).toEqual(['ci', ['ci', 'debian']]);
  expect(debian?.strategy?.matrix).toEqual({ runner: ['ubuntu-24.04', 'ubuntu-24.04-arm'] });
  expect(runsOf(debian ?? {}).slice(1)).toEqual(['scripts/setup.mjs build', 'scripts/deb.mjs --out']);
  expect(runsOf(publish ?? {})).toEqual([
    'scripts/release.mjs check',
    'scripts/setup.mjs build',
    'scripts/release.mjs images',
    'scripts/release.mjs pack',
    'scripts/release.mjs publish',
  ]);
  const pack = publish?.steps?.find(({ run }) => run?.startsWith('node scripts/release.mjs pack'));
  expect(pack?.run).toContain('--debs build/debs');
});

test('all tests run on each Node that the pages name as supported', () => {
  const { tests } = jobsOf('ci.yml');
  const majors = tests?.strategy?.matrix['node']?.map((version) => parseInt(String(version), 10));
  expect(majors).toEqual([20, 22, 24, 26]);
  const commands = tests?.steps?.map(({ run }) => run);
  expect(commands).toEqual(expect.arrayContaining(['npm test', 'npm run test:long']));
  const upgrade = readFileSync(join(root, 'docs', 'upgrade.md'), 'utf8');
  expect(upgrade).toContain(`Node ${majors?.slice(1, -1).join(', ')} and ${majors?.at(-1)} are tested`);
});
