import { isCheckType, type CheckType } from '../../protocol/check-types.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { ResultRow } from './statements.ts';
import { tracerouteForm } from './traceroute-form.ts';
import { rounded } from '../../rounding.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';

/**
 * The form of results in answers: our vocabulary, and next to it each type's public form, derived from `details` and
 * `timings`.
 */

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/**
 * Phases in the public form. Connecting includes a proxy's tunnel, and the TLS handshake counts as waiting for the
 * first byte.
 */
export function timingPhases(timings: unknown): Fields | null {
  if (typeof timings !== 'object' || timings === null) return null;
  const { dns, connect, tunnel, tls, firstByte, download, remainder, total } = fieldsOf(timings);
  return {
    wait: rounded(number(remainder), 3),
    dns: rounded(number(dns), 3),
    tcp: rounded(number(connect) + number(tunnel), 3),
    firstByte: rounded(number(tls) + number(firstByte), 3),
    download: rounded(number(download), 3),
    total: rounded(number(total), 3),
  };
}

type Parts = {
  details: Fields;
  timings: unknown;
  assertions: readonly unknown[];
  artifacts: readonly unknown[];
  log: readonly unknown[];
};

/** The phases as moments: milliseconds from the start of the attempt to the end of each phase. */
function moments(phases: Fields | null): Fields | null {
  if (phases === null) return null;
  const { wait, dns, tcp, firstByte, download } = phases;
  let at = 0;
  const after = (phase: unknown) => (at = rounded(at + number(phase), 3));
  return {
    socket: after(wait),
    lookup: after(dns),
    connect: after(tcp),
    response: after(firstByte),
    end: after(download),
  };
}

/** The log by phase. Lines of setup and teardown scripts begin with the script's name. */
function jobLog(log: readonly unknown[]): Fields {
  const lists: { setup: unknown[]; request: unknown[]; teardown: unknown[] } = {
    setup: [],
    request: [],
    teardown: [],
  };
  for (const entry of log) {
    const { msg } = fieldsOf(entry);
    const [, phase, text] = (typeof msg === 'string' && /^(setup|teardown): ([^]*)$/.exec(msg)) || [];
    if (phase === 'setup' || phase === 'teardown') lists[phase].push({ ...fieldsOf(entry), msg: text });
    else lists.request.push(entry);
  }
  return lists;
}

const httpForm = ({ details, timings, assertions, artifacts, log }: Parts): Fields => {
  const phases = timingPhases(timings);
  const response = details['response'] ?? null;
  return {
    request: details['request'] ?? null,
    response:
      response === null ? null : { ...fieldsOf(response), timings: moments(phases), timingPhases: phases },
    requestError: details['requestError'] ?? null,
    assertions,
    jobLog: jobLog(log),
    jobAssets: artifacts,
    pcapDataUrl: urlsOf(artifacts, 'pcap')[0] ?? null,
  };
};

const tcpForm = ({ details, timings, assertions }: Parts): Fields => {
  const { dns, connect, firstByte, download, remainder, total } = fieldsOf(timings);
  return {
    ...details,
    assertions,
    timingPhases:
      typeof timings !== 'object' || timings === null
        ? null
        : {
            dns: rounded(number(dns), 3),
            connect: rounded(number(connect), 3),
            data: rounded(number(firstByte) + number(download) + number(remainder), 3),
            total: rounded(number(total), 3),
          },
  };
};

const ownForm = ({ details, assertions }: Parts): Fields => ({ ...details, assertions });

/** URLs of the stored artifacts of a type. */
const urlsOf = (artifacts: readonly unknown[], type: string): unknown[] =>
  artifacts
    .map(fieldsOf)
    .filter((artifact) => artifact['type'] === type && typeof artifact['url'] === 'string')
    .map(({ url }) => url);

const multiStepForm = ({ details, artifacts, log }: Parts): Fields => ({
  errors: itemsOf(details['errors']),
  startTime: details['startTime'] ?? null,
  endTime: details['endTime'] ?? null,
  runtimeVersion: details['runtimeVersion'] ?? null,
  jobLog: log,
  jobAssets: artifacts,
  playwrightTestTraces: urlsOf(artifacts, 'trace'),
  playwrightTestJsonReportFile: urlsOf(artifacts, 'report')[0] ?? null,
});

const noErrors = { consoleErrors: 0, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 };

const browserForm = (parts: Parts): Fields => ({
  type: 'PLAYWRIGHT_TEST',
  traceSummary: { ...noErrors, ...fieldsOf(parts.details['traceSummary']) },
  pages: itemsOf(parts.details['pages']),
  ...multiStepForm(parts),
  playwrightTestVideos: urlsOf(parts.artifacts, 'video'),
});

const suiteForm = ({ details, artifacts, log }: Parts): Fields => {
  const facts = Object.fromEntries(suiteFacts.map((name) => [name, details[name] ?? null] as const));
  const stored = artifacts.map(fieldsOf).filter(({ url }) => typeof url === 'string');
  const reports = (ending: RegExp) =>
    stored.filter(({ type, name }) => type === 'report' && ending.test(String(name))).map(({ url }) => url);
  return {
    ...facts,
    // First the errors of the whole run, then those of tests.
    errors: [
      ...itemsOf(details['errors']),
      ...itemsOf(details['tests']).flatMap((test) => itemsOf(fieldsOf(test)['errors'])),
    ],
    stages: itemsOf(details['stages']),
    tests: itemsOf(details['tests']),
    jobLog: log,
    jobAssets: artifacts,
    playwrightTraceFiles: stored
      .filter(({ type }) => type === 'trace')
      .map(({ url, name }) => ({ url, name: String(name).replace(/\.zip$/, ''), filename: name })),
    playwrightTestTraces: urlsOf(artifacts, 'trace'),
    playwrightTestVideos: urlsOf(artifacts, 'video'),
    playwrightTestJsonReportFile: reports(/\.json$/)[0] ?? null,
    playwrightTestHtmlReportFile: reports(/\.zip$/)[0] ?? null,
  };
};

const agenticForm = ({ details, artifacts }: Parts): Fields => ({
  summary: details['summary'] ?? '',
  prompt: details['prompt'] ?? '',
  assertions: itemsOf(details['assertions']),
  suggestions: itemsOf(details['suggestions']),
  steps: itemsOf(details['steps']),
  errors: itemsOf(details['errors']),
  artifactManifest: Object.fromEntries(
    artifacts
      .map(fieldsOf)
      .filter(({ state }) => state === 'stored')
      .map(({ name }) => [name, agenticFiles[String(name)] ?? 'A file of the run'] as const),
  ),
});

const agenticFiles: { readonly [name: string]: string } = {
  'screenshot.jpg': 'The page as the run left it',
  'script.json': 'The actions of the run, which later runs do again',
};

const suiteFacts = [
  'playwrightVersion',
  'engine',
  'packageManager',
  'dependencyCache',
  'startTime',
  'endTime',
  'runStatus',
  'exitCode',
  'totals',
  'testsLeftOut',
] as const;

/** Name of the field with a type's public form, and the function that makes the form; null = none. */
export const resultForms: {
  readonly [T in CheckType]: { field: `${string}CheckResult`; form: (parts: Parts) => Fields } | null;
} = {
  API: { field: 'apiCheckResult', form: httpForm },
  URL: { field: 'urlCheckResult', form: httpForm },
  TCP: { field: 'tcpCheckResult', form: tcpForm },
  DNS: { field: 'dnsCheckResult', form: ownForm },
  ICMP: { field: 'icmpCheckResult', form: ownForm },
  SSL: { field: 'sslCheckResult', form: ownForm },
  GRPC: { field: 'grpcCheckResult', form: ownForm },
  TRACEROUTE: { field: 'tracerouteCheckResult', form: tracerouteForm },
  BROWSER: { field: 'browserCheckResult', form: browserForm },
  MULTI_STEP: { field: 'multiStepCheckResult', form: multiStepForm },
  PLAYWRIGHT: { field: 'playwrightCheckResult', form: suiteForm },
  AGENTIC: { field: 'agenticCheckResult', form: agenticForm },
  HEARTBEAT: null,
};

const summaryOf = (row: ResultRow): Fields => ({
  id: row.id,
  checkId: row.checkId,
  sequenceId: row.sequenceId,
  checkType: row.checkType,
  runLocation: row.runLocation,
  resultType: row.resultType,
  status: row.status,
  hasFailures: row.hasFailures,
  hasErrors: row.hasErrors,
  isDegraded: row.isDegraded,
  overMaxResponseTime: row.overMaxResponseTime,
  isCancelled: row.isCancelled,
  responseTime: row.responseTime,
  attempts: row.attempts,
  reason: row.reason,
  errorGroupIds: row.errorGroupIds ?? [],
  ...(serviceCheckType(row.checkType)?.hasTotals === true ? { totals: row.totals } : {}),
  startedAt: row.startedAt.toISOString(),
  stoppedAt: row.stoppedAt.toISOString(),
  created_at: row.storedAt.toISOString(),
});

function partsOf(body: Fields): Parts {
  return {
    details: fieldsOf(body['details']),
    timings: body['timings'] ?? null,
    assertions: itemsOf(body['assertions']),
    artifacts: itemsOf(body['artifacts']),
    log: itemsOf(body['log']),
  };
}

/** A result in a list. If its body is too large for a list, only the summary is shown, with `isPartial`. */
export function presentListedResult(row: ResultRow): Fields {
  if (row.body === null) return { ...summaryOf(row), isPartial: true };
  const { assertions, timings, details, artifacts, log } = partsOf(row.body);
  return { ...summaryOf(row), isPartial: false, assertions, timings, details, artifacts, log };
}

/** A complete result with its type's public form. */
export function presentResult(row: ResultRow): Fields {
  const own = isCheckType(row.checkType) ? resultForms[row.checkType] : null;
  if (row.body === null || own === null) return presentListedResult(row);
  return { ...presentListedResult(row), [own.field]: own.form(partsOf(row.body)) };
}
