import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SuiteRun } from '../../../src/script/interface/suite-run.ts';
import { hasSuites, startSuites, type SuiteBench } from '../../helpers/suites/suites.ts';

/**
 * Suites that mean harm: each gets a clear result in a bounded time, what runs them stays awake and small, and nothing of them is
 * left. The projects need no packages, so no registry.
 */

/** Writes to where the reporter writes. */
const report = `
import { execFileSync } from 'node:child_process';
import { closeSync, linkSync, mkdirSync, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
const folder = process.cwd() + '/../report';
const line = (value) => JSON.stringify(value) + '\\n';
const begin = line({ kind: 'run', version: 1, mode: 'test', playwrightVersion: '1.58.2', startTime: 1, globalTimeout: 0 });
const plan = (id) => line({ kind: 'plan', id, title: 'test ' + id, titlePath: ['a.spec.ts', 'test ' + id], file: '/a.spec.ts', line: 1, project: '', tags: [] });
const end = (id, more = {}) => line({ kind: 'end', id, retry: 0, status: 'passed', expectedStatus: 'passed', startTime: 1, durationMs: 1,
  errors: [], errorCount: 0, steps: [], attachments: [], ...more });
const done = line({ kind: 'done', status: 'passed', endTime: 2 });
`;
const many = `${report}
const file = openSync(folder + '/run-1-1.jsonl', 'w');
writeSync(file, begin);
for (let batch = 0; batch < 100; batch += 1) {
  let text = '';
  for (let one = 0; one < 1000; one += 1) text += plan(batch + '-' + one) + end(batch + '-' + one);
  writeSync(file, text);
}
writeSync(file, done);
closeSync(file);`;
const files = `${report}
writeFileSync(folder + '/run-1-1.jsonl', begin + plan('a') + end('a', {
  attachments: [
    { name: 'shadow', contentType: 'text/plain', path: '/etc/shadow', kept: null },
    { name: 'pipe', contentType: 'text/plain', path: process.cwd() + '/pipe', kept: null },
    { name: 'link', contentType: 'text/plain', path: process.cwd() + '/link', kept: null },
  ],
}) + done);
execFileSync('mkfifo', ['pipe', folder + '/run-2-2.jsonl', folder + '/results-1-1.json', folder + '/capture-1-1.jsonl']);
symlinkSync('/etc/shadow', 'link');
symlinkSync('/etc/passwd', folder + '/run-3-3.jsonl');
symlinkSync('/etc', folder + '/html-1-1');
// Deep, long, and with holes of gigabytes.
writeFileSync(folder + '/run-4-4.jsonl', '['.repeat(400000) + '\\n{"kind":"error","text":' + '['.repeat(100000) + '\\n');
for (const name of ['run-5-5.jsonl', 'results-4-4.json', 'capture-4-4.jsonl']) {
  writeFileSync(join(folder, name), '{"kind":');
  truncateSync(join(folder, name), 2 ** 31);
}
mkdirSync(folder + '/html-4-4/data', { recursive: true });
writeFileSync(folder + '/html-4-4/index.html', 'x');
truncateSync(folder + '/html-4-4/index.html', 2 ** 31 + 2 ** 20);
writeFileSync(folder + '/run-6-6.jsonl', begin + line({ kind: 'error', text: 'e'.repeat(500000) }) + 'x'.repeat(50_000_000));`;
const crowd = `${report}
import { mkdirSync as folderAt } from 'node:fs';
folderAt(folder + '/html-1-1');
for (let count = 0; count < 10000; count += 1) closeSync(openSync((count % 2 ? folder + '/html-1-1/' : folder + '/') + 'a-file-with-a-long-name-that-takes-memory-' + count, 'w'));
writeFileSync(folder + '/run-1-1.jsonl', begin + plan('a') + end('a') + done);`;
const daemons = `for word in TERM INT HUP; do trap '' $word; done
for each in 1 2 3; do setsid sh -c 'trap "" TERM INT HUP; sleep 1000 & sleep 1000' >/dev/null 2>&1 & done
exit 0`;
/** Nine generations that all want the processor, half of them in sessions of their own: thrice the bound, and it ends even if nobody ends it. */
const bomb = `[ $1 -eq 0 ] && exec timeout 20 sh -c 'while :; do :; done'
sh bomb.sh $(($1 - 1)) & setsid sh bomb.sh $(($1 - 1)) & wait; sleep 10`;
const removing = `
import { rmSync, symlinkSync } from 'node:fs';
const here = process.cwd();
for (const path of [process.env.HOME, process.env.TMPDIR, here + '/../report', here, here + '/..']) {
  try { rmSync(path, { recursive: true, force: true }); } catch {}
  try { symlinkSync('/etc', path); } catch {}
}
console.log('all gone');`;

type Hostile = {
  name: string;
  files: { [path: string]: string };
  suite: { testCommand: string; installCommand?: string };
  expected: object;
  also?: (run: SuiteRun, log: string[]) => void;
};
const running = (program: string) => ({
  files: { 'test.mjs': program },
  suite: { testCommand: 'node test.mjs' },
});
const killed = (what: string) => ({
  failure: { code: 'SCRIPT_KILLED', message: expect.stringContaining(what) as string },
});

const hostile: Hostile[] = [
  {
    name: 'a hundred megabytes of output',
    files: {},
    suite: {
      testCommand:
        'yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -c 100M',
    },
    expected: killed('output'),
  },
  {
    name: 'a hundred thousand tests',
    ...running(many),
    expected: { failure: null, details: { totals: { tests: 20_000, passed: 20_000 } } },
    also: ({ details }) => {
      expect(details.tests.length + details.testsLeftOut).toBe(20_000);
      expect(JSON.stringify(details).length).toBeLessThan(2 * 1024 ** 2);
    },
  },
  {
    name: 'reports that are pipes, links, deep or of gigabytes',
    ...running(files),
    // Records of gigabytes are not read to their end, so a secret in them would be missed.
    expected: {
      failure: { code: 'SCRIPT_KILLED', message: expect.stringContaining('secrets to be read') as string },
    },
    also: (run) => {
      expect(run.files.map(({ name }) => name).join(' ')).not.toMatch(/shadow|pipe|link|\.zip/);
    },
  },
  {
    name: 'folders with very many files',
    ...running(crowd),
    expected: { failure: null, details: { totals: { tests: 1 } } },
  },
  {
    name: 'an install that leaves daemons',
    files: { 'install.sh': daemons },
    suite: { installCommand: 'sh install.sh', testCommand: 'sh install.sh' },
    expected: { failure: { code: 'SCRIPT_INVALID' } },
  },
  {
    name: 'a test that forks without end',
    files: { 'bomb.sh': bomb },
    suite: { testCommand: 'sh bomb.sh 9' },
    expected: killed('processes'),
  },
  {
    name: 'an install that forks without end',
    files: { 'bomb.sh': bomb },
    suite: { installCommand: '(sh bomb.sh 9 &) ; sleep 60', testCommand: 'true' },
    expected: {
      failure: { code: 'INSTALL_FAILED', message: expect.stringContaining('processes') as string },
    },
  },
  {
    name: 'a project that removes itself',
    ...running(removing),
    expected: { failure: { code: 'SCRIPT_INVALID' } },
    also: (_run, log) => expect(log).toContain('all gone'),
  },
  {
    name: 'a file that is too large',
    files: {},
    suite: { testCommand: 'truncate -s 20G large' },
    expected: killed('disk'),
  },
];

describe.runIf(hasSuites)('hostile suites', { timeout: 60_000 }, () => {
  let bench: SuiteBench;
  let folder: string;
  beforeAll(() => {
    bench = startSuites();
    folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  });
  afterAll(async () => {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.for(hostile)('$name', async ({ name, files: given, suite, expected, also }) => {
    const project = join(folder, name.replaceAll(' ', '-'));
    mkdirSync(project);
    const manifest = { name: 'nothing', version: '1.0.0', private: true };
    const lock = { ...manifest, lockfileVersion: 3, packages: {} };
    const all = {
      'package.json': JSON.stringify(manifest),
      'package-lock.json': JSON.stringify(lock),
      ...given,
    };
    for (const [path, text] of Object.entries(all)) writeFileSync(join(project, path), text);
    // The processor time between two turns of the event loop: other checks use the same thread.
    let last = process.cpuUsage();
    let busiestMs = 0;
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(last);
      busiestMs = Math.max(busiestMs, (user + system) / 1000);
      last = process.cpuUsage();
    }, 50);
    const before = process.memoryUsage.rss();
    const { run, log, workDir } = await bench.start(project, { suite });
    const result = await run;
    clearInterval(timer);
    expect(result, `${JSON.stringify(result.failure)}\n${log.slice(-30).join('\n')}`).toMatchObject(expected);
    also?.(result, log);
    expect(bench.processes()).toEqual([]);
    expect((process.memoryUsage.rss() - before) / 1024 ** 2).toBeLessThan(300);
    expect(busiestMs).toBeLessThan(4000);
    rmSync(workDir, { recursive: true, force: true });
  });
});
