import { beforeAll, describe, expect, test } from 'vitest';
import { presentResult } from '../../../src/service/results/form.ts';
import type { ResultRow } from '../../../src/service/results/statements.ts';

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
    totals: null,
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

const totals = {
  tests: 6,
  passed: 2,
  failed: 1,
  flaky: 1,
  skipped: 1,
  timedOut: 0,
  interrupted: 1,
  degraded: 1,
};
const suiteTest = (title: string, fields: object = {}) => ({
  title,
  titlePath: ['cart.spec.ts', 'cart', title],
  file: 'tests/cart.spec.ts',
  line: 3,
  project: 'chromium',
  tags: ['@smoke'],
  status: 'passed',
  degraded: false,
  durationMs: 120,
  retries: 0,
  errors: [],
  steps: [],
  attachments: [],
  ...fields,
});
const suite = {
  playwrightVersion: '1.58.2',
  engine: { name: 'node', version: '22.23.3' },
  packageManager: { name: 'pnpm', version: '10.1.0' },
  dependencyCache: 'hit',
  startTime: 1000,
  endTime: 9000,
  stages: [
    { name: 'install', startTime: 1000, durationMs: 2500 },
    { name: 'test', startTime: 3500, durationMs: 5000 },
  ],
  runStatus: 'failed',
  exitCode: 1,
  totals,
  errors: ['global setup said no'],
  tests: [
    suiteTest('adds'),
    suiteTest('is slow', { degraded: true }),
    suiteTest('removes <b>', {
      status: 'failed',
      errors: ['\u001b[31mexpected 1\u001b[39m'],
      steps: [step('outer', [step('inner', [], 'inner failed')])],
      attachments: [
        { name: 'trace', contentType: 'application/zip', artifact: 'cart-removes.zip' },
        { name: 'text', contentType: 'text/plain', artifact: null },
      ],
    }),
    suiteTest('comes late', { status: 'flaky', retries: 1 }),
  ],
  testsLeftOut: 2,
};
const suiteArtifacts = [
  artifact('cart-removes.zip', 'trace'),
  artifact('cart-removes.webm', 'video'),
  artifact('report.zip', 'report'),
  artifact('test-results.json', 'report'),
];

test('public form of a suite', () => {
  const row = { ...rowOf('PLAYWRIGHT', { details: suite, artifacts: suiteArtifacts }), totals };
  const shown = presentResult(row);
  const url = (name: string) => `https://service.example/assets/${name}`;
  expect(shown['totals']).toEqual(totals);
  const { errors, ...told } = suite;
  expect(shown['playwrightCheckResult']).toEqual({
    ...told,
    errors: [...errors, '\u001b[31mexpected 1\u001b[39m'],
    jobLog: log,
    jobAssets: suiteArtifacts,
    playwrightTraceFiles: [
      { url: url('cart-removes.zip'), name: 'cart-removes', filename: 'cart-removes.zip' },
    ],
    playwrightTestTraces: [url('cart-removes.zip')],
    playwrightTestVideos: [url('cart-removes.webm')],
    playwrightTestJsonReportFile: url('test-results.json'),
    playwrightTestHtmlReportFile: url('report.zip'),
  });
  expect(
    presentResult(rowOf('PLAYWRIGHT', { details: { tests: 1 }, artifacts: [] }))['playwrightCheckResult'],
  ).toMatchObject({ tests: [], errors: [], totals: null, playwrightTestJsonReportFile: null });
  expect('totals' in presentResult(rowOf('BROWSER', { details }))).toBe(false);
});

describe('page', () => {
  type Node = { tag: string; text: string; click: () => void };
  type Tools = {
    element: (tag: string, options: object, ...children: unknown[]) => Node;
    svgElement: (tag: string, options: object, ...children: unknown[]) => Node;
    milliseconds: (value: unknown) => string;
    download: (url: string, name: string) => Promise<void>;
  };
  type Graphs = (tools: Tools & { ago: (iso: unknown) => string }, runs: unknown) => Node;
  let resultDetail: (tools: Tools, result: unknown) => Node[];
  let suiteGraphs: Graphs;
  beforeAll(async () => {
    // By their URLs: the types of these modules are those of browsers.
    const load = (name: string): Promise<unknown> =>
      import(new URL(`../../../src/service/pages/browser/${name}.ts`, import.meta.url).href);
    ({ resultDetail } = (await load('result/detail')) as { resultDetail: typeof resultDetail });
    ({ suiteGraphs } = (await load('result/suite-graphs')) as { suiteGraphs: Graphs });
  });

  /** The tools that the page gives, and what was made with them. */
  function page() {
    const downloads: string[] = [];
    const buttons: (() => void)[] = [];
    const made: { tag: string; options: { class?: string; attributes?: Record<string, string> } }[] = [];
    const element: Tools['element'] = (tag, options, ...children) => {
      made.push({ tag, options });
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
    };
    const tools: Tools = {
      element,
      svgElement: element,
      milliseconds: (value) => (typeof value === 'number' ? `${value} ms` : '–'),
      download: async (url, name) => void downloads.push(`${name} ${url}`),
    };
    return { tools, made, downloads, buttons };
  }

  /** The text of all nodes, and what a click on a file asks for. */
  function shown(result: unknown) {
    const { tools, downloads, buttons } = page();
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

  test('shows the traceroute and the packets of a network failure', () => {
    const hop = {
      sent: 3,
      lossPercent: 0,
      lastMs: 0.25,
      avgMs: 0.3,
      bestMs: 0.2,
      worstMs: 0.4,
      stddevMs: 0.1,
    };
    const silent = { lastMs: null, avgMs: null, bestMs: null, worstMs: null, stddevMs: null };
    const traceroute = {
      way: 'tcp',
      address: '10.3.0.2',
      port: 443,
      reached: false,
      hops: [
        { hop: 1, address: '10.1.0.2', name: 'gateway.example', ...hop, error: 'host unreachable' },
        { hop: 2, address: null, ...hop, lossPercent: 100, ...silent },
      ],
    };
    const packetCapture = { packets: 2, summary: '2 packets: 1 SYN, none of them accepted, 1 reset' };
    const { text } = shown(presentResult(rowOf('URL', { details: { traceroute, packetCapture } })));
    for (const part of [
      'Traceroute to 10.3.0.2 port 443 by TCP: not reached',
      '  1  10.1.0.2                    0%      0.3      0.3      0.2      0.4      0.1  gateway.example  host unreachable',
      '  2  *                         100%        -',
      'Packets: 2 packets: 1 SYN, none of them accepted, 1 reset',
    ]) {
      expect(text).toContain(part);
    }
    const unavailable = { unavailable: 'no <b>way</b>' };
    const none = { details: { traceroute: unavailable, packetCapture: unavailable } };
    const said = 'No traceroute: no <b>way</b>\nNo packets: no <b>way</b>';
    expect(shown(presentResult(rowOf('URL', none))).text).toContain(said);
    const odd = {
      details: { traceroute: { hops: [1, null, { hop: {}, lossPercent: [] }] }, packetCapture: 7 },
    };
    expect(shown(presentResult(rowOf('URL', odd))).text).toContain('Traceroute to');
  });

  test('shows a suite: numbers, tools, stages, tests with their files, failed ones first', () => {
    const { text, downloads } = shown(
      presentResult(rowOf('PLAYWRIGHT', { details: suite, artifacts: suiteArtifacts })),
    );
    for (const part of [
      '6 tests 2 passed 1 degraded 1 failed 1 flaky 1 interrupted 1 skipped',
      'Playwright 1.58.2, node 22.23.3, pnpm 10.1.0, dependency cache: hit, exit code 1',
      'install 2500 ms',
      'global setup said no',
      '[chromium] cart.spec.ts › cart › removes <b> 120 ms failed',
      'inner failed',
      'passed, degraded',
      'flaky, 1 retry',
      '2 more tests are only in the JSON report',
      'report.zip',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('timed out');
    expect(text.indexOf('removes')).toBeLessThan(text.indexOf('is slow'));
    expect(text.indexOf('is slow')).toBeLessThan(text.indexOf('adds'));
    // With its test, and among all files.
    const trace = 'cart-removes.zip https://service.example/assets/cart-removes.zip';
    expect(downloads.filter((each) => each === trace)).toHaveLength(2);
  });

  test('shows the last runs of a suite as graphs', () => {
    const run = (n: number, fields: object = {}) => ({
      status: 'failed',
      responseTime: 1000 + n,
      runLocation: 'office',
      startedAt: 'a time',
      totals,
      ...fields,
    });
    const graphsOf = (runs: unknown) => {
      const { tools, made } = page();
      const { text } = suiteGraphs({ ...tools, ago: () => 'lately' }, runs);
      const bars = made.filter(({ tag }) => tag === 'rect').map(({ options }) => options);
      return { text, bars };
    };
    const one = graphsOf([run(0), run(1, { status: 'missed', totals: null, responseTime: 0 })]);
    expect(one.text).toContain('longest 1000 ms');
    expect(one.text).toContain('max. 6 tests');
    expect(one.text).toContain('missed, no tests, office, lately');
    expect(one.text).toContain('2 passed, 1 degraded, 2 failed, 1 skipped, office, lately');
    // Two of performance, one of the missed run, four parts of the other.
    expect(one.bars.map((bar) => bar.class)).toEqual([
      'idle',
      'failed',
      'idle',
      'passed',
      'degraded',
      'failed',
      'idle',
    ]);
    expect(one.bars.slice(3).map(({ attributes }) => attributes?.['height'])).toEqual([
      '20.0',
      '10.0',
      '20.0',
      '10.0',
    ]);
    expect(graphsOf(Array.from({ length: 100 }, (_, n) => run(n))).bars).toHaveLength(30 + 30 * 4);
    const wild = {
      status: { toString: 1 },
      responseTime: 'x',
      totals: { tests: -1 },
      runLocation: { toString: 1 },
    };
    for (const runs of [null, [], {}, [null, wild, { totals: 7 }], [{ totals: { tests: 1, passed: 1e9 } }]]) {
      expect(() => graphsOf(runs)).not.toThrow();
    }
  });

  test.each([
    {},
    {
      details: {
        totals: { tests: { toString: 1 } },
        engine: { name: { toString: 1 }, version: 1 },
        stages: [null, { name: { toString: 1 }, durationMs: 'x' }],
        tests: [
          null,
          {
            status: { toString: 1 },
            titlePath: [{ toString: 1 }],
            retries: 'x',
            attachments: [null, { artifact: 1 }],
          },
        ],
        testsLeftOut: {},
      },
      artifacts: [{ name: 1 }],
    },
    { details: { totals: null, tests: [{ status: 'constructor' }, { status: '__proto__' }] } },
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
  ])('handles incomplete results: %j', (result) => {
    expect(() => shown(result)).not.toThrow();
  });

  test('is bounded', () => {
    const many = Array.from({ length: 2000 }, (_, n) => step(`step ${n}`));
    const { text } = shown({ details: { tests: [{ title: 'long', steps: many, errors: [] }] } });
    expect(text).toContain('step 499');
    expect(text).not.toContain('step 500');
  });
});
