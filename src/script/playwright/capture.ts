import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { captureNames } from './capture-names.ts';
import { bounds, type TestReport } from '../child/capture/format.ts';
import { readOwnFile } from './files.ts';
import type { ApiCall, PageVisit, StepRun, WebVital } from '../interface/playwright-run.ts';
import { amountOf, amountOrNull, recordOfTexts, textOf, textOrNull, textsOf } from '../process/unchecked.ts';
import { fieldsOf, parsedJson, type Fields } from '../../json-values.ts';
import { shortened } from '../../shortened.ts';

/** The records that the capture in the test processes has written, checked and bounded. */
export type Capture = {
  visits: PageVisit[];
  calls: (Omit<ApiCall, 'steps' | 'assertions'> & { test: string | null })[];
  counts: { consoleErrors: number; networkErrors: number; documentErrors: number };
  /** Number of failed soft assertions, by test and try. */
  softFailures: Map<string, number>;
  marks: { test: string | null; reason: string }[];
};

/** A key for one try of one test. */
export function tryKey(test: { id: string; retry: number }): string {
  return `${test.retry} ${test.id}`;
}

const vitalNames = ['CLS', 'FCP', 'LCP', 'TBT', 'TTFB'] as const;

/** Published thresholds (web.dev): up to the first is good, above the second poor. Milliseconds, except CLS. */
const thresholds: { readonly [name in (typeof vitalNames)[number]]: readonly [number, number] } = {
  CLS: [0.1, 0.25],
  FCP: [1800, 3000],
  LCP: [2500, 4000],
  TBT: [200, 600],
  TTFB: [800, 1800],
};

/** Byte limit for all processes together, because the records are read on the machine that measures checks. */
const recordBytes = 16 * 1024 * 1024;
const recordLines = 50_000;

/** Reads the records of all processes of a run. Never throws: damaged records are skipped. */
export async function readCapture(folder: string): Promise<Capture> {
  const capture: Capture = {
    visits: [],
    calls: [],
    counts: { consoleErrors: 0, networkErrors: 0, documentErrors: 0 },
    softFailures: new Map(),
    marks: [],
  };
  // The script may have put a link in its place.
  const isFolder = (await lstat(folder).catch(() => null))?.isDirectory() ?? false;
  const names = captureNames(isFolder ? await readdir(folder).catch(() => []) : []);
  const visits: { startTime: number; visit: PageVisit }[] = [];
  let bytes = recordBytes;
  let lines = recordLines;
  for (const name of names.slice(0, 50)) {
    if (bytes <= 0 || lines <= 0) break;
    const text = (await readOwnFile(join(folder, name), Math.min(bounds.recordBytes, bytes))) ?? '';
    bytes -= text.length;
    const records = text.split('\n', lines);
    lines -= records.length;
    const ofFile = new Map<unknown, { startTime: number; visit: PageVisit }>();
    let counts: Fields = {};
    for (const line of records) {
      const record = fieldsOf(line === '' ? undefined : parsedJson(line));
      if (record['kind'] === 'counts') counts = record;
      else if (record['kind'] === 'visit') {
        if (ofFile.size < bounds.visits || ofFile.has(record['id'])) {
          ofFile.set(record['id'], { startTime: amountOf(record['startTime']), visit: visitOf(record) });
        }
      } else takeRecord(capture, record);
    }
    for (const key of ['consoleErrors', 'networkErrors', 'documentErrors'] as const) {
      capture.counts[key] += Math.floor(Math.min(1e6, amountOf(counts[key])));
    }
    visits.push(...ofFile.values());
  }
  const ordered = visits.toSorted((a, b) => a.startTime - b.startTime).map(({ visit }) => visit);
  capture.visits = fitting(ordered.slice(0, bounds.visits), visitText);
  return capture;
}

function takeRecord(capture: Capture, record: Fields): void {
  const test = record['test'] === null ? null : keyOf(record['test']);
  switch (record['kind']) {
    case 'soft':
      if (test !== null) capture.softFailures.set(test, (capture.softFailures.get(test) ?? 0) + 1);
      break;
    case 'degraded':
      if (capture.marks.length < 1000) {
        capture.marks.push({ test, reason: textOf(record['reason'], bounds.shortText) });
      }
      break;
    case 'call':
      if (capture.calls.length < bounds.calls) capture.calls.push({ ...callOf(record), test });
      break;
    default:
    // The script wrote to the file itself.
  }
}

function keyOf(value: unknown): string {
  const { testId, retry } = fieldsOf(value);
  return tryKey({ id: textOf(testId, 200), retry: amountOf(retry) });
}

function visitOf(record: Fields): PageVisit {
  const raw = fieldsOf(record['vitals']);
  const webVitals: PageVisit['webVitals'] = {};
  for (const name of vitalNames) {
    const value = amountOrNull(raw[name]);
    if (value !== null) webVitals[name] = { score: score(name, value), value };
  }
  return {
    url: textOf(record['url'], bounds.url),
    webVitals,
    pageTimings: {
      onContentLoad: amountOrNull(record['onContentLoad']),
      onLoad: amountOrNull(record['onLoad']),
    },
    responseSizes: { encoded: amountOf(record['encoded']), decoded: amountOf(record['decoded']) },
    consoleErrors: textsOf(record['consoleErrors'], bounds.pageErrors, bounds.shortText),
    networkErrors: textsOf(record['networkErrors'], bounds.pageErrors, bounds.shortText),
  };
}

function score(name: (typeof vitalNames)[number], value: number): WebVital['score'] {
  const [good, poor] = thresholds[name];
  return value <= good ? 'GOOD' : value <= poor ? 'NEEDS_IMPROVEMENT' : 'POOR';
}

function callOf(record: Fields): Omit<ApiCall, 'steps' | 'assertions'> {
  const request = fieldsOf(record['request']);
  const response = record['response'] === null ? null : fieldsOf(record['response']);
  const phases = Object.entries(fieldsOf(record['timingPhases'])).slice(0, 10);
  return {
    startTime: amountOf(record['startTime']),
    durationMs: amountOf(record['durationMs']),
    request: {
      method: textOf(request['method'], 32),
      url: textOf(request['url'], bounds.url),
      headers: recordOfTexts(request['headers'], bounds.headers, bounds.headerValue),
      body: textOrNull(request['body'], bounds.bodyText),
    },
    response:
      response === null
        ? null
        : {
            status: amountOf(response['status']),
            statusText: textOf(response['statusText'], bounds.shortText),
            headers: recordOfTexts(response['headers'], bounds.headers, bounds.headerValue),
            body: textOrNull(response['body'], bounds.bodyText),
            bodyBytes: amountOf(response['bodyBytes']),
          },
    error: textOrNull(record['error'], bounds.shortText),
    timingPhases: Object.fromEntries(phases.map(([name, ms]) => [shortened(name, 50), amountOf(ms)])),
  };
}

/** Character limits of all calls of a result, and of all its page visits; the rest is dropped. */
const callText = 512 * 1024;
const visitText = 256 * 1024;

/** The first items that fit together. */
function fitting<Value>(values: readonly Value[], room: number): Value[] {
  let left = room;
  return values.filter((value) => {
    if (left > 0) left -= JSON.stringify(value).length;
    return left > 0;
  });
}

/**
 * Adds to each call the steps around it and the assertions between it and the next call. Both are found by time among
 * the steps of its test.
 */
export function callsWithSteps(
  calls: Capture['calls'],
  tests: readonly (Pick<TestReport, 'id' | 'retry'> & { steps: StepRun[] })[],
): ApiCall[] {
  const ordered = fitting(
    calls.toSorted((a, b) => a.startTime - b.startTime),
    callText,
  );
  return ordered.map((call, index) => {
    const { test, ...rest } = call;
    const roots = tests.find((each) => tryKey(each) === test)?.steps ?? [];
    const next = ordered.slice(index + 1).find((each) => each.test === test);
    const around = stepsAround(roots, call);
    const siblings = around.at(-1)?.steps ?? roots;
    const end = Math.floor(call.startTime + call.durationMs);
    return {
      ...rest,
      steps: around.map(({ title }) => title),
      assertions: siblings
        .filter(
          ({ category, startTime }) =>
            category === 'expect' &&
            startTime >= Math.min(end, next?.startTime ?? end) &&
            startTime >= call.startTime &&
            // In the same millisecond as the next call, the assertion came before it, because a call takes longer than
            // that.
            (next === undefined || startTime <= next.startTime),
        )
        .map(({ title, error }) => ({ title, passed: error === null, error })),
    };
  });
}

/** The chain of `test.step`s and hooks during which the call started, outermost first. */
function stepsAround(steps: readonly StepRun[], call: { startTime: number; durationMs: number }): StepRun[] {
  const end = call.startTime + call.durationMs;
  const around = steps.find(
    ({ category, startTime, durationMs }) =>
      (category === 'test.step' || category === 'hook' || category === 'fixture') &&
      startTime <= call.startTime &&
      // Allows for a millisecond of rounding on each side.
      startTime + durationMs + 2 >= end,
  );
  return around === undefined ? [] : [around, ...stepsAround(around.steps, call)];
}
