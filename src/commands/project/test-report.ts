import { printable } from '../terminal-text.ts';

/** Reports of test runs: for a terminal, for programs, for CI servers, and for pull requests. */

export type TestedCheck = {
  logicalId: string;
  name: string;
  checkType: string;
  location: string;
  /** `skipped`: the check was not run; the reason says why. */
  status: 'passed' | 'degraded' | 'failed' | 'errored' | 'missed' | 'cancelled' | 'skipped';
  /** Milliseconds; null = it was not run. */
  responseTime: number | null;
  /** Why it did not pass: a line each. */
  reasons: string[];
  /** The result in the API; null = there is none. */
  link: string | null;
  /** `file:line` of the check. */
  place: string;
};

export type TestReport = {
  project: string;
  /** The session in the API; null = no check was run. */
  session: string | null;
  startedAt: string;
  checks: TestedCheck[];
};

export const reporters = ['text', 'json', 'junit', 'markdown'] as const;
export type Reporter = (typeof reporters)[number];

const passes = ({ status }: TestedCheck) => status === 'passed' || status === 'degraded';
const skips = ({ status }: TestedCheck) => status === 'skipped';
const fails = ({ status }: TestedCheck) => status === 'failed';

/** How a test run ended, for the exit code. A check that no agent could run is no failure of the check. */
export function outcomeOf({ checks }: TestReport): 'passed' | 'failed' | 'could not run' {
  if (checks.some(fails)) return 'failed';
  return checks.every((check) => passes(check) || skips(check)) ? 'passed' : 'could not run';
}

/** The report in one of the formats. */
export const reportOf: { readonly [R in Reporter]: (report: TestReport) => string } = {
  text: textReport,
  json: (report) => `${JSON.stringify({ outcome: outcomeOf(report), ...report })}\n`,
  junit: junitReport,
  markdown: markdownReport,
};

const milliseconds = (value: number | null) => (value === null ? '' : `${Math.round(value)} ms`);

function totals(checks: readonly TestedCheck[]): string {
  const others = checks.filter((check) => !passes(check) && !fails(check) && !skips(check)).length;
  const parts = [
    `${checks.filter(passes).length} passed`,
    `${checks.filter(fails).length} failed`,
    ...(others > 0 ? [`${others} could not run`] : []),
    ...(checks.some(skips) ? [`${checks.filter(skips).length} skipped`] : []),
  ];
  return parts.join(', ');
}

function textReport({ checks }: TestReport): string {
  const lines = checks.flatMap(({ status, logicalId, name, location, responseTime, reasons, place }) => [
    `${status.padEnd(9)} ${printable(logicalId)}  ${printable(name)}  ${printable(location)}  ${milliseconds(responseTime)}`.trimEnd(),
    ...(status === 'passed' || status === 'degraded' ? [] : [`          ${printable(place)}`]),
    ...reasons.map((reason) => `          ${printable(reason)}`),
  ]);
  return `${[...lines, checks.length === 0 ? 'no checks to test' : totals(checks)].join('\n')}\n`;
}

/** XML 1.0 has no control characters, not even escaped ones. */
const xml = (text: string): string =>
  text
    .replaceAll(/[^\P{Cc}\t\n\r]|[\ufffe\uffff]|\p{Cs}/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');

function junitReport({ project, startedAt, checks }: TestReport): string {
  const seconds = (value: number | null) => ((value ?? 0) / 1000).toFixed(3);
  const count = (is: (check: TestedCheck) => boolean) => checks.filter(is).length;
  const isError = (check: TestedCheck) => !passes(check) && !fails(check) && !skips(check);
  const time = seconds(checks.reduce((sum, { responseTime }) => sum + (responseTime ?? 0), 0));
  const figures = `tests="${checks.length}" failures="${count(fails)}" errors="${count(isError)}" skipped="${count(skips)}" time="${time}"`;
  const cases = checks.flatMap((check) => {
    const { name, logicalId, checkType, place, responseTime, reasons } = check;
    const [file = '', line = '1'] = place.split(/:(?=\d+$)/);
    const open = `    <testcase classname="${xml(`${project}.${checkType}`)}" name="${xml(`${logicalId}: ${name}`)}" file="${xml(file)}" line="${xml(line)}" time="${seconds(responseTime)}"`;
    const element = fails(check) ? 'failure' : isError(check) ? 'error' : skips(check) ? 'skipped' : null;
    if (element === null) return [`${open}/>`];
    const message = `message="${xml(reasons[0] ?? check.status)}"`;
    return [
      `${open}>`,
      element === 'skipped'
        ? `      <skipped ${message}/>`
        : `      <${element} ${message}>${xml(reasons.join('\n'))}</${element}>`,
      '    </testcase>',
    ];
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${figures}>`,
    `  <testsuite name="${xml(project)}" timestamp="${xml(startedAt.replace(/\.\d+Z$/, ''))}" ${figures}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** A text within a table cell, whatever it contains. */
const cell = (text: string): string =>
  printable(text)
    .replaceAll(/[\\`*_[\]<>|~]/g, '\\$&')
    .replaceAll('\n', ' ');

function markdownReport({ project, checks }: TestReport): string {
  const icons: { readonly [status: string]: string | undefined } = {
    passed: '✅',
    degraded: '⚠️',
    failed: '❌',
    skipped: '➖',
  };
  const rows = checks.map(
    ({ status, logicalId, name, location, responseTime, reasons, link }) =>
      `| ${icons[status] ?? '🚫'} ${status} | ${link === null ? cell(logicalId) : `[${cell(logicalId)}](${encodeURI(link)})`} | ${cell(name)} | ${cell(location)} | ${milliseconds(responseTime)} | ${cell(reasons.join('; '))} |`,
  );
  return [
    `### Checks of ${cell(project)}: ${checks.length === 0 ? 'nothing to test' : totals(checks)}`,
    '',
    ...(rows.length === 0
      ? []
      : [
          '| Status | Check | Name | Location | Time | Reason |',
          '| --- | --- | --- | --- | --- | --- |',
          ...rows,
          '',
        ]),
  ].join('\n');
}
