import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPlaywrightReport } from '../../../src/script/playwright/report.ts';
import { readSuiteReport } from '../../../src/script/suite/report/report.ts';

/** What a script or a suite leaves behind: reports, captured lines and Playwright's JSON. Customer code wrote them. */

export const name = 'run-reports';
export const maxBytes = 16 * 1024;

let root: string | null = null;

/** The same bytes are every file. Throws if a reader throws or its report is too large. */
export async function run(data: Buffer): Promise<void> {
  root ??= mkdtempSync(join(tmpdir(), 'fuzz-report-'));
  const at = (...parts: string[]): string => join(root ?? '', ...parts);
  const place = {
    root,
    project: at('project'),
    working: at('project'),
    home: at('home'),
    temporary: at('tmp'),
    report: at('report'),
  };
  for (const folder of [place.project, place.report, at('output'), at('capture')])
    mkdirSync(folder, { recursive: true });
  for (const file of ['report/run-1700000000000-1.jsonl', 'report/capture-1700000000000-1.jsonl']) {
    writeFileSync(at(file), data);
  }
  for (const file of ['report.json', 'playwright.json', 'capture/capture-1700000000000-1.jsonl']) {
    writeFileSync(at(file), data);
  }
  const suite = await readSuiteReport({
    place,
    end: { code: (data[0] ?? 0) % 3, signal: null, exceeded: null },
    lastLines: data.toString().split('\n').slice(0, 5),
  });
  const script = await readPlaywrightReport({
    checkType: 'BROWSER',
    runtimeVersion: '2026.04',
    playwrightVersion: '1.65.1',
    folder: root,
    originalFolder: '/work',
    scriptFolder: at('project'),
    outputFolder: at('output'),
    captureFolder: at('capture'),
    reporterFile: at('report.json'),
    jsonReport: at('playwright.json'),
    startTime: 1_700_000_000_000,
  });
  for (const report of [suite, script]) {
    const { length } = JSON.stringify(report);
    if (length > 65_536 + 64 * data.length) throw new Error(`${length} characters from ${data.length} bytes`);
  }
}

export const close = (): void => {
  if (root !== null) rmSync(root, { recursive: true, force: true });
};

export const seeds = (): string[] => {
  const test = {
    id: 'a-b',
    title: 't',
    titlePath: ['', 'chromium', 'a.spec.ts', 't'],
    file: '/work/a.spec.ts',
    line: 3,
  };
  const step = { title: 's', category: 'test.step', startTime: 1, duration: 2, error: null, steps: [] };
  const attachment = { name: 'trace', contentType: 'application/zip', path: '/work/trace.zip' };
  const lines = [
    { kind: 'begin', mode: 'test', version: '1.65.1', startTime: 1, globalTimeout: 0 },
    { kind: 'plan', tests: [{ ...test, project: 'chromium', tags: ['@x'] }] },
    { kind: 'test', test: test.id, retry: 0, startTime: 1 },
    {
      kind: 'try',
      id: test.id,
      retry: 0,
      status: 'failed',
      errors: ['e'],
      steps: [step],
      attachments: [attachment],
    },
    { kind: 'end', status: 'failed', endTime: 9 },
    { kind: 'degraded', test: { testId: test.id, retry: 0 }, reason: 'slow' },
    { kind: 'soft', test: { testId: test.id, retry: 0 } },
    { kind: 'secret', value: 'abc' },
    {
      kind: 'visit',
      url: 'https://shop.test/',
      status: 200,
      vitals: { LCP: 1200 },
      console: [{ text: 'x' }],
    },
    { kind: 'call', method: 'GET', url: '/x', status: 200, startTime: 1, duration: 3, headers: { a: 'b' } },
  ];
  const report = {
    version: 1,
    playwrightVersion: '1.65.1',
    status: 'failed',
    startTime: 1,
    duration: 9,
    errors: [{ message: 'e' }],
    tests: [
      {
        ...test,
        retry: 0,
        status: 'failed',
        expectedStatus: 'passed',
        errors: [{ message: 'e' }],
        steps: [step],
      },
    ],
  };
  return [`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`, JSON.stringify(report)];
};

export const dictionary = [
  '{"',
  '":',
  '[',
  ']',
  '{',
  '}',
  ',',
  'null',
  '1e400',
  '-1',
  '\n',
  '"__proto__":',
  '"kind":"',
  '"steps":[',
  '"tests":[',
  '"attachments":',
  '"path":"../',
  '"retry":',
  '"status":"',
  'passed',
  'timedOut',
  '\\ud800',
  '"id":',
  '"version":1',
];
