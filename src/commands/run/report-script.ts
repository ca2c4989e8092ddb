import { isFields, type Fields } from '../../json-values.ts';
import { printable, printableLine } from '../terminal-text.ts';

/** The terminal report of a script's result: tests and steps, pages, calls, and where the artifacts are. */

export const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);
export const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

const maxTests = 100;
const maxSteps = 60;
const maxLine = 200;
const maxErrorLines = 12;

/** Lines about a browser or multi-step run; empty if `details` has no tests. */
export function scriptLines(details: Fields): string[] {
  const tests = list(details['tests']);
  return [
    ...tests.slice(0, maxTests).flatMap(testLines),
    ...list(details['apiCalls']).slice(0, maxSteps).map(callLine),
    ...list(details['pages']).slice(0, maxSteps).flatMap(pageLines),
    // Errors of tests are shown with their tests.
    ...(tests.length === 0 ? texts(details['errors']).slice(0, 5).flatMap(errorLines) : []),
  ];
}

/** One line per file that `run` saves in a folder. */
export function artifactLines(files: readonly { name: string; type: string; size: number }[]): string[] {
  return files.map(({ name, type, size }) => `${type.padEnd(10)}  ${name}  ${bytes(size)}`);
}

const marks: { readonly [status: string]: string } = {
  passed: 'ok    ',
  skipped: 'skip  ',
};

function testLines(test: Fields): string[] {
  const mark = test['degraded'] === true ? 'DEGR  ' : (marks[String(test['status'])] ?? 'FAILED');
  const title = texts(test['titlePath']).slice(1).join(' › ') || String(test['title']);
  return [
    `${mark}  ${oneLine(title)}  ${milliseconds(test['durationMs'])}`,
    ...stepLines(list(test['steps']), 1).slice(0, maxSteps),
    ...texts(test['errors']).slice(0, 5).flatMap(errorLines),
  ];
}

/** Steps that the script's author named, and calls that failed; the trace has everything else. */
function stepLines(steps: readonly Fields[], depth: number): string[] {
  if (depth > 5) return [];
  return steps.flatMap((step) => {
    const failed = typeof step['error'] === 'string';
    const shown = step['category'] === 'test.step' || failed;
    const inner = stepLines(list(step['steps']), shown ? depth + 1 : depth);
    if (!shown) return inner;
    const line = `${' '.repeat(6 + depth * 2)}${failed ? '✗' : '·'} ${oneLine(String(step['title']))}  ${milliseconds(step['durationMs'])}`;
    return [line, ...inner];
  });
}

function callLine(call: Fields): string {
  const request = isFields(call['request']) ? call['request'] : {};
  const response = isFields(call['response']) ? call['response'] : null;
  const answer = response === null ? String(call['error'] ?? 'no answer') : String(response['status']);
  return `call    ${String(request['method'])} ${oneLine(String(request['url']))}  ${oneLine(answer)}  ${milliseconds(call['durationMs'])}`;
}

function pageLines(page: Fields): string[] {
  const vitals = isFields(page['webVitals']) ? page['webVitals'] : {};
  const shown = Object.entries(vitals).flatMap(([name, vital]) =>
    isFields(vital)
      ? [
          `${name} ${rounded(name, vital['value'])} ${String(vital['score']).toLowerCase().replaceAll('_', ' ')}`,
        ]
      : [],
  );
  return [
    `page    ${oneLine(String(page['url']))}`,
    ...(shown.length === 0 ? [] : [`        ${shown.join(', ')}`]),
    ...texts(page['consoleErrors'])
      .slice(0, 5)
      .map((text) => `        console: ${oneLine(text)}`),
    ...texts(page['networkErrors'])
      .slice(0, 5)
      .map((text) => `        network: ${oneLine(text)}`),
  ];
}

function rounded(name: string, value: unknown): string {
  if (typeof value !== 'number') return '?';
  return name === 'CLS' ? value.toFixed(3) : `${Math.round(value)} ms`;
}

/** The error of a test, cut to a length that a terminal can show. */
export function errorLines(text: string): string[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const cut = lines.length > maxErrorLines ? ['…'] : [];
  return [...lines.slice(0, maxErrorLines), ...cut].map(
    (line) => `        ${printable(line).slice(0, maxLine)}`,
  );
}

export function milliseconds(value: unknown): string {
  return typeof value === 'number' ? `${Math.round(value)} ms` : '';
}

function bytes(size: number): string {
  if (size < 1024) return `${size} bytes`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(0)} KB`;
  return `${(size / 1024 / 1024).toFixed(1)} MB`;
}

export const oneLine = (text: string): string => printableLine(text.replaceAll('\n', ' '), maxLine);
