import { beforeAll, describe, expect, test } from 'vitest';
import { presentResult } from '../../../src/service/api/result-form.ts';
import type { ResultRow } from '../../../src/service/db/results.ts';
import { resultScript } from '../../../src/service/web/result-script.ts';

/** Results of scripts: their public form, and what the page makes of them. */

const artifact = (name: string, type: string, state = 'stored') => ({
  name,
  type,
  size: 12_345,
  state,
  url: state === 'stored' ? `https://service.example/assets/${name}` : null,
});
const artifacts = [
  artifact('trace.zip', 'trace'),
  artifact('video.webm', 'video'),
  artifact('report.json', 'report'),
  artifact('late.zip', 'trace', 'pending'),
];
const log = [{ time: 1, level: 'info', msg: 'hello' }];
const pages = [
  {
    url: 'https://shop.example/',
    webVitals: { CLS: { score: 'GOOD', value: 0.0123 }, LCP: { score: 'POOR', value: 4200 } },
    pageTimings: { onContentLoad: 100, onLoad: 240 },
    responseSizes: { encoded: 1, decoded: 2 },
    consoleErrors: ['console said so'],
    networkErrors: [],
  },
];
const step = (title: string, steps: unknown[] = [], error: string | null = null) => ({
  title,
  category: 'test.step',
  startTime: 1,
  durationMs: 12,
  error,
  steps,
});
const details = {
  runtimeVersion: '2026.04',
  playwrightVersion: '1.58.2',
  startTime: 1000,
  endTime: 2000,
  errors: ['\u001b[31mexpected 1 to be 2\u001b[39m'],
  tests: [
    {
      title: 'buys <b>a lamp</b>',
      titlePath: ['shop.spec.ts', 'buys'],
      status: 'failed',
      degraded: false,
      durationMs: 1000,
      errors: ['\u001b[31mexpected 1 to be 2\u001b[39m'],
      steps: [step('outer', [step('inner', [], 'inner failed')])],
    },
  ],
  pages,
  traceSummary: { consoleErrors: 1 },
  apiCalls: [
    {
      steps: ['outer'],
      startTime: 1,
      request: { method: 'GET', url: 'https://api.example/orders', headers: {}, body: null },
      response: { status: 503, statusText: 'x', headers: {}, body: null, bodyBytes: 0 },
      error: null,
      timingPhases: {},
      durationMs: 33,
      assertions: [{ title: 'toBeOK', passed: false, error: 'no' }],
    },
  ],
};

function rowOf(checkType: string, body: Record<string, unknown>): ResultRow {
  return {
    id: 'r',
    checkId: 'c',
    sequenceId: 's',
    checkType,
    runLocation: 'office',
    resultType: 'FINAL',
    status: 'failed',
    hasFailures: true,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 1000,
    attempts: 0,
    reason: null,
    body: { assertions: [], timings: null, artifacts, log, ...body },
    startedAt: new Date(0),
    stoppedAt: new Date(0),
    storedAt: new Date(0),
    jobId: null,
    leaseToken: null,
  };
}

describe('public form', () => {
  const multiStep = {
    errors: details.errors,
    startTime: 1000,
    endTime: 2000,
    runtimeVersion: '2026.04',
    jobLog: log,
    jobAssets: artifacts,
    playwrightTestTraces: ['https://service.example/assets/trace.zip'],
    playwrightTestJsonReportFile: 'https://service.example/assets/report.json',
  };

  test('of a multi-step check', () => {
    expect(presentResult(rowOf('MULTI_STEP', { details }))['multiStepCheckResult']).toEqual(multiStep);
  });

  test('of a browser check', () => {
    expect(presentResult(rowOf('BROWSER', { details }))['browserCheckResult']).toEqual({
      type: 'PLAYWRIGHT_TEST',
      traceSummary: { consoleErrors: 1, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 },
      pages,
      ...multiStep,
      playwrightTestVideos: ['https://service.example/assets/video.webm'],
    });
  });

  test.each([{}, { errors: 'no list', pages: 7, traceSummary: null }])('of details like %j', (broken) => {
    expect(presentResult(rowOf('BROWSER', { details: broken }))['browserCheckResult']).toMatchObject({
      errors: [],
      pages: [],
      startTime: null,
      traceSummary: { consoleErrors: 0 },
    });
  });
});

describe('page', () => {
  type Node = { tag: string; text: string; click: () => void };
  type Tools = {
    element: (tag: string, options: object, ...children: unknown[]) => Node;
    milliseconds: (value: unknown) => string;
    download: (url: string, name: string) => Promise<void>;
  };
  let resultDetail: (tools: Tools, result: unknown) => Node[];
  beforeAll(async () => {
    const url = `data:text/javascript;base64,${Buffer.from(resultScript).toString('base64')}`;
    ({ resultDetail } = (await import(/* @vite-ignore */ url)) as { resultDetail: typeof resultDetail }); // what it exports
  });

  /** The text of all nodes, and what a click on a file asks for. */
  function shown(result: unknown) {
    const downloads: string[] = [];
    const buttons: (() => void)[] = [];
    const tools: Tools = {
      element: (tag, _options, ...children) => {
        const kept = children.filter((child) => child !== null && child !== undefined) as (Node | string)[];
        const node = {
          tag,
          text: kept.map((child) => (typeof child === 'string' ? child : child.text)).join(' '),
          click: () => undefined,
          addEventListener: (_event: string, listener: () => void) => void buttons.push(listener),
          append: (...more: Node[]) => {
            node.text = [node.text, ...more.map(({ text }) => text)].join(' ');
          },
        };
        return node;
      },
      milliseconds: (value) => (typeof value === 'number' ? `${value} ms` : '–'),
      download: async (url, name) => void downloads.push(`${name} ${url}`),
    };
    const text = resultDetail(tools, result)
      .map((node) => node.text)
      .join(' ');
    for (const click of buttons) click();
    return { text, downloads };
  }

  test('shows tests, steps, calls, pages, files and the log', () => {
    const { text, downloads } = shown(presentResult(rowOf('BROWSER', { details })));
    for (const part of [
      'buys <b>a lamp</b>',
      'expected 1 to be 2',
      'outer',
      'inner failed',
      'GET https://api.example/orders',
      '503',
      'toBeOK',
      'CLS 0.012',
      'LCP 4200 ms',
      'console said so',
      '12 kB',
      'late.zip',
      'pending',
      'hello',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('\u001b');
    expect(downloads).toContain('trace.zip https://service.example/assets/trace.zip');
    expect(downloads).toHaveLength(3);
  });

  test.each([
    {},
    { details: null, artifacts: {}, log: 'x' },
    {
      details: {
        tests: [{ title: { toString: 1 }, status: { toString: 1 }, errors: [{ valueOf: 1, toString: 1 }] }],
        pages: [{ url: { toString: 1 }, webVitals: { CLS: { value: { valueOf: 1, toString: 1 } } } }],
        apiCalls: [{ request: {}, response: { status: { toString: 1 } } }],
      },
      assertions: [{ source: { toString: 1 } }],
      log: [{ msg: { toString: 1 } }],
    },
    {
      details: {
        tests: [null, 1, { steps: [null, { steps: 'x' }], errors: 3 }],
        pages: [null],
        apiCalls: [{}],
      },
    },
  ])('takes nothing for granted: %j', (result) => {
    expect(() => shown(result)).not.toThrow();
  });

  test('is bounded', () => {
    const many = Array.from({ length: 2000 }, (_, n) => step(`step ${n}`));
    const { text } = shown({ details: { tests: [{ title: 'long', steps: many, errors: [] }] } });
    expect(text).toContain('step 499');
    expect(text).not.toContain('step 500');
  });
});
