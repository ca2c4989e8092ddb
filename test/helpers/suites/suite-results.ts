import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import yauzl from 'yauzl';
import type { SuiteRun } from '../../../src/script/interface/suite-run.ts';

/** What tests say of a suite's result. */

/** One line per test, sorted: `project | describe › title | status`, then its retries and `degraded`, where there are any. */
export function testLines(run: Pick<SuiteRun, 'details'>): string[] {
  return run.details.tests
    .map(({ project, titlePath, status, retries, degraded }) =>
      [
        ...(project === '' ? [] : [project]),
        titlePath.slice(1).join(' › '),
        status,
        ...(retries === 0 ? [] : [`retries ${retries}`]),
        ...(degraded ? ['degraded'] : []),
      ].join(' | '),
    )
    .toSorted();
}

/** Names of a zip's entries; rejects where it is none. */
export function zipNames(path: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    yauzl.open(path, { lazyEntries: false }, (error, zip) => {
      if (error !== null) return reject(error);
      const names: string[] = [];
      zip.on('entry', ({ fileName }) => names.push(fileName));
      zip.on('error', reject);
      zip.on('end', () => resolve(names));
    });
  });
}

/** A report as Playwright's JSON reporter writes it, as far as these tests look at it. */
export type JsonReport = {
  config: { version: string };
  suites: JsonSuite[];
  errors: unknown[];
  stats: { expected: number; unexpected: number; flaky: number; skipped: number };
};
type JsonSuite = { title: string; specs: { title: string; ok: boolean }[]; suites?: JsonSuite[] };

/**
 * Looks into every file of a run: the output is text, the JSON report is Playwright's, the HTML report and the traces are
 * zips with what belongs in them. Every artifact that a test names is there. The JSON report.
 */
export async function openFiles(run: SuiteRun): Promise<JsonReport> {
  const { files } = run;
  const named = (name: string) => files.find((file) => file.name === name)?.path ?? `no file ${name}`;
  expect(new Set(files.map(({ name }) => name)).size).toBe(files.length);
  expect(readFileSync(named('output.log'), 'utf8')).toContain('stage test began');
  expect(await zipNames(named('report.zip'))).toContain('index.html');
  const traces = files.filter(({ type }) => type === 'trace');
  for (const { path } of traces) {
    const names = await zipNames(path);
    expect(names.filter((name) => /(^|\.)(test\.trace|trace)$/.test(name))).not.toEqual([]);
  }
  const wanted = run.details.tests.flatMap(({ attachments }) => attachments.map(({ artifact }) => artifact));
  expect(wanted.filter((name) => name !== null && !files.some((file) => file.name === name))).toEqual([]);
  return JSON.parse(readFileSync(named('test-results.json'), 'utf8')) as JsonReport;
}
