import { isCheckType, type CheckType } from '../../../protocol/check-types.ts';

/**
 * The facts in which check types differ for the service, each on one row. Rules and forms that need code have tables of
 * their own with their subjects; the compiler names each table that lacks a type.
 */
export type ServiceCheckType = {
  /** Last part of `/v1/checks/{…}`. */
  path: string;
  /** Name of the type's check in the OpenAPI document. */
  title: string;
  /** A check of the type, in a sentence. */
  words: string;
  /** The last parts of `/v1/analytics/{…}/{id}`; the first one is the usual name. */
  analyticsPaths: readonly [string, ...string[]];
  /** Least value of `frequency`, in minutes; 0 also allows runs every few seconds. */
  leastFrequency: number;
  /** `agents`: as jobs. `service`: in a browser of its own. `nobody`: the check waits for pings. */
  runBy: 'agents' | 'service' | 'nobody';
  /** True: the check has locations, its own or its group's. */
  hasLocations: boolean;
  /** True: failed attempts are repeated as retryStrategy and doubleCheck say. */
  isRetried: boolean;
  /** True: retryStrategy may name the failures that are repeated (`onlyOn`). */
  mayRetryOnlyOn: boolean;
  /** `script`: each run needs customer code. `phases`: only with setup or teardown. `none`: no code that the service stores. */
  code: 'script' | 'phases' | 'none';
  /** True: a check may name a runtime, or get it from its group. */
  hasRuntime: boolean;
  /** True: the runtime must support multi-step checks. */
  needsMultiStepSupport: boolean;
  /** True: its jobs carry client certificates, and the group's headers, parameters, password and assertions. */
  hasHttpDefaults: boolean;
  /** True: a scheduled run is skipped where an earlier one is still queued or running. */
  waitsForEarlierRun: boolean;
  /** True: the lines of a run's log are readable while it runs. */
  hasLiveLog: boolean;
  /** How a run of a session is cancelled; null = it is not, because it takes seconds. */
  cancel: 'job' | 'agentic run' | null;
  /** True: results count tests (`totals`). */
  hasTotals: boolean;
  /** True: a trigger that waits answers with the response time. */
  answersResponseTime: boolean;
  /** True: a `connect` timing in a timeout proves that the target took the connection. */
  connectProvesConnection: boolean;
};

const usual = {
  leastFrequency: 0,
  runBy: 'agents',
  hasLocations: true,
  isRetried: true,
  mayRetryOnlyOn: false,
  code: 'none',
  hasRuntime: true,
  needsMultiStepSupport: false,
  hasHttpDefaults: false,
  waitsForEarlierRun: false,
  hasLiveLog: false,
  cancel: null,
  hasTotals: false,
  answersResponseTime: false,
  connectProvesConnection: true,
} as const;

const script = { ...usual, leastFrequency: 1, code: 'script' } as const;
/** Neither an agent nor a location has part in it. */
const withoutAgents = { ...usual, hasLocations: false, isRetried: false, hasRuntime: false } as const;

export const serviceCheckTypes: { readonly [T in CheckType]: ServiceCheckType } = {
  URL: {
    ...usual,
    path: 'url',
    title: 'UrlCheck',
    words: 'a URL monitor',
    analyticsPaths: ['url-checks', 'url-monitors'],
    mayRetryOnlyOn: true,
  },
  API: {
    ...usual,
    path: 'api',
    title: 'ApiCheck',
    words: 'an API check',
    analyticsPaths: ['api-checks'],
    mayRetryOnlyOn: true,
    code: 'phases',
    hasHttpDefaults: true,
    answersResponseTime: true,
  },
  TCP: {
    ...usual,
    path: 'tcp',
    title: 'TcpCheck',
    words: 'a TCP monitor',
    analyticsPaths: ['tcp-checks', 'tcp-monitors'],
    connectProvesConnection: false,
  },
  DNS: {
    ...usual,
    path: 'dns',
    title: 'DnsCheck',
    words: 'a DNS monitor',
    analyticsPaths: ['dns-checks', 'dns-monitors'],
  },
  ICMP: {
    ...usual,
    path: 'icmp',
    title: 'IcmpCheck',
    words: 'an ICMP monitor',
    analyticsPaths: ['icmp-checks', 'icmp-monitors'],
  },
  BROWSER: {
    ...script,
    path: 'browser',
    title: 'BrowserCheck',
    words: 'a browser check',
    analyticsPaths: ['browser-checks'],
  },
  MULTI_STEP: {
    ...script,
    path: 'multistep',
    title: 'MultiStepCheck',
    words: 'a multi-step check',
    analyticsPaths: ['multistep-checks'],
    needsMultiStepSupport: true,
  },
  PLAYWRIGHT: {
    ...usual,
    path: 'playwright',
    title: 'PlaywrightCheck',
    words: 'a Playwright suite',
    analyticsPaths: ['playwright-checks'],
    leastFrequency: 1,
    // Playwright retries tests itself, with the packages of the project.
    isRetried: false,
    hasRuntime: false,
    waitsForEarlierRun: true,
    hasLiveLog: true,
    cancel: 'job',
    hasTotals: true,
  },
  HEARTBEAT: {
    ...withoutAgents,
    path: 'heartbeat',
    title: 'HeartbeatCheck',
    words: 'a heartbeat',
    analyticsPaths: ['heartbeat-checks', 'heartbeat-monitors'],
    runBy: 'nobody',
  },
  AGENTIC: {
    ...withoutAgents,
    path: 'agentic',
    title: 'AgenticCheck',
    words: 'an agentic check',
    analyticsPaths: ['agentic-checks'],
    leastFrequency: 5,
    runBy: 'service',
    cancel: 'agentic run',
  },
};

/** The row of a type; null for a type of a newer version. */
export function serviceCheckType(type: string): ServiceCheckType | null {
  return isCheckType(type) ? serviceCheckTypes[type] : null;
}

/** True for heartbeats: nobody runs them, they wait for pings. */
export const isPinged = (type: string): boolean => serviceCheckType(type)?.runBy === 'nobody';

/** The types of some rows, in the table's order. */
export function typesWhere(holds: (row: ServiceCheckType) => boolean): CheckType[] {
  return Object.keys(serviceCheckTypes)
    .filter(isCheckType)
    .filter((type) => holds(serviceCheckTypes[type]));
}

/** The same as a list in SQL; at least one type must be on it. */
export function sqlTypesWhere(holds: (row: ServiceCheckType) => boolean): string {
  return `(${typesWhere(holds)
    .map((type) => `'${type}'`)
    .join(', ')})`;
}

/** One column of the table, in its order. */
export function columnOf<V>(valueOf: (row: ServiceCheckType) => V): { readonly [T in CheckType]: V } {
  const values = typesWhere(() => true).map((type) => [type, valueOf(serviceCheckTypes[type])] as const);
  return Object.fromEntries(values) as { [T in CheckType]: V }; // an entry for each type
}
