import { join } from 'node:path';
import { eachLine, namesIn } from './record-files.ts';
import { suiteBounds as bounds } from '../../child/suite/format.ts';
import type { StepRun } from '../../interface/playwright-run.ts';
import { amountOf, listOf, textOf, textOrNull, textsOf } from '../../process/unchecked.ts';
import { fieldsOf, type Fields } from '../../../json-values.ts';
import { shortened } from '../../../shortened.ts';

/**
 * Reads the lines that the reporter and the helpers have written in all processes of a run: checked, bounded, one by
 * one.
 */

export type ReadAttachment = { name: string; contentType: string; path: string | null; kept: string | null };

/** One try of a test. */
export type ReadTry = {
  retry: number;
  /** Null = it started and did not finish. */
  status: string | null;
  expectedStatus: string;
  startTime: number;
  durationMs: number;
  errors: string[];
  errorCount: number;
  /** Empty if there was no room. */
  steps: StepRun[];
  attachments: ReadAttachment[];
};

export type ReadTest = {
  id: string;
  title: string;
  titlePath: string[];
  file: string;
  line: number;
  project: string;
  tags: string[];
  /** In order of their numbers. */
  tries: ReadTry[];
};

/** One Playwright process that ran tests, or merged the reports of others. */
export type ReadRun = {
  /** Part of its file names. */
  stamp: string;
  mode: 'test' | 'merge';
  /** Empty if it never got that far. */
  playwrightVersion: string;
  startTime: number;
  globalTimeout: number;
  /** Null = it exited early. */
  status: string | null;
  endTime: number;
  errors: string[];
  notes: string[];
  /** By id, in the order of the plan. */
  tests: Map<string, ReadTest>;
};

export const tryKey = (id: string, retry: number): string => `${retry} ${id}`;

/** Limit for all files together. */
const most = { runs: 100, bytes: 128 * 1024 * 1024 };
/** Limits for all runs together: tries by their number, everything else in characters. */
const room = {
  tries: 30_000,
  plans: 8 * 1024 * 1024,
  attachments: 6 * 1024 * 1024,
  failedSteps: 1024 * 1024,
  passedSteps: 512 * 1024,
  errors: 1024 * 1024,
};
/** Characters reserved for each try's first error, however little room is left. */
const shortError = 300;

/** The runs below `folder`, by their start. Never throws: damaged lines are skipped. */
export async function readRuns(folder: string): Promise<ReadRun[]> {
  const names = (await namesIn(folder, /^run-\d{1,16}-\d{1,10}\.jsonl$/, 10 * most.runs)).sort(
    (a, b) => startOf(a) - startOf(b),
  );
  const left = { bytes: most.bytes, ...room };
  const runs: ReadRun[] = [];
  for (const name of names.slice(0, most.runs)) {
    const run: ReadRun = {
      stamp: name.slice('run-'.length, -'.jsonl'.length),
      mode: 'test',
      playwrightVersion: '',
      startTime: startOf(name),
      globalTimeout: 0,
      status: null,
      endTime: 0,
      errors: [],
      notes: [],
      tests: new Map(),
    };
    left.bytes -= await eachLine(
      join(folder, name),
      Math.min(left.bytes, bounds.fileBytes),
      bounds.lineBytes,
      (line, length) => takeLine(run, line, length, left),
    );
    runs.push(run);
  }
  return runs;
}

const startOf = (name: string): number => Number(name.split('-')[1]);

function takeLine(run: ReadRun, line: Fields, length: number, left: typeof room): void {
  switch (line['kind']) {
    case 'run':
      run.mode = line['mode'] === 'merge' ? 'merge' : 'test';
      run.playwrightVersion = textOf(line['playwrightVersion'], 100);
      run.globalTimeout = amountOf(line['globalTimeout']);
      break;
    case 'plan': {
      const id = textOf(line['id'], 200);
      if (run.tests.has(id) || run.tests.size >= bounds.tests || left.plans < length) break;
      left.plans -= length;
      run.tests.set(id, {
        id,
        title: textOf(line['title'], bounds.title),
        titlePath: textsOf(line['titlePath'], bounds.titles, bounds.title),
        file: textOf(line['file'], bounds.path),
        line: Math.floor(amountOf(line['line'])),
        project: textOf(line['project'], bounds.title),
        tags: textsOf(line['tags'], bounds.tags, bounds.title),
        tries: [],
      });
      break;
    }
    case 'begin':
    case 'end':
      takeTry(run, line, left);
      break;
    case 'error':
      if (run.errors.length < bounds.runErrors) run.errors.push(textOf(line['text'], bounds.errorText));
      break;
    case 'note':
      if (run.notes.length < bounds.notes) run.notes.push(textOf(line['text'], bounds.title));
      break;
    case 'done':
      run.status = textOf(line['status'], 100);
      run.endTime = amountOf(line['endTime']);
      break;
    default:
    // Written by somebody who writes to the file directly.
  }
}

function takeTry(run: ReadRun, line: Fields, left: typeof room): void {
  const test = run.tests.get(textOf(line['id'], 200));
  const retry = Math.floor(amountOf(line['retry']));
  if (test === undefined || retry > 100) return;
  let entry = test.tries.find((each) => each.retry === retry);
  if (entry === undefined) {
    if (left.tries-- <= 0) return;
    entry = {
      retry,
      status: null,
      expectedStatus: 'passed',
      startTime: amountOf(line['startTime']),
      durationMs: 0,
      errors: [],
      errorCount: 0,
      steps: [],
      attachments: [],
    };
    test.tries.push(entry);
    test.tries.sort((a, b) => a.retry - b.retry);
  }
  if (line['kind'] !== 'end') return;
  entry.status = textOf(line['status'], 100);
  entry.expectedStatus = textOf(line['expectedStatus'], 100);
  entry.startTime = amountOf(line['startTime']);
  entry.durationMs = amountOf(line['durationMs']);
  entry.errorCount = amountOf(line['errorCount']);
  const errors = textsOf(line['errors'], bounds.errors, bounds.errorText);
  entry.errors = (left.errors > 0 ? errors : errors.slice(0, 1)).map((text) => {
    const kept = shortened(text, Math.max(shortError, left.errors));
    left.errors -= kept.length;
    // A substring keeps the whole string in memory.
    return kept.length < text.length ? Buffer.from(kept).toString() : kept;
  });
  const purse = entry.status === entry.expectedStatus ? 'passedSteps' : 'failedSteps';
  entry.steps = stepsOf(line['steps'], 1, (length) => (left[purse] -= length) > 0);
  entry.attachments = listOf(line['attachments'], bounds.attachments).flatMap((value) => {
    const each = fieldsOf(value);
    const attachment = {
      name: textOf(each['name'], bounds.title),
      contentType: textOf(each['contentType'], 200),
      path: textOrNull(each['path'], bounds.path),
      kept: textOrNull(each['kept'], bounds.path),
    };
    left.attachments -= JSON.stringify(attachment).length;
    return left.attachments > 0 ? [attachment] : [];
  });
}

function stepsOf(value: unknown, depth: number, mayTake: (length: number) => boolean): StepRun[] {
  if (depth > bounds.stepDepth) return [];
  return listOf(value, bounds.steps.failed).flatMap((each) => {
    const step = fieldsOf(each);
    const title = textOf(step['title'], bounds.title);
    const error = textOrNull(step['error'], bounds.stepError);
    // In addition to its texts, a step has about a hundred characters of JSON.
    if (!mayTake(100 + title.length + (error?.length ?? 0))) return [];
    return [
      {
        title,
        category: textOf(step['category'], 100),
        startTime: amountOf(step['startTime']),
        durationMs: amountOf(step['durationMs']),
        error,
        steps: stepsOf(step['steps'], depth + 1, mayTake),
      },
    ];
  });
}
