import { isCheckType, type CheckType } from '../../../protocol/check-types.ts';

/**
 * The differences between check types for the service, one row per type. Rules and forms that need code have tables
 * of their own in their subjects. The compiler reports each table that lacks a type.
 */
export type ServiceCheckType = {
  /** Last path segment of `/v1/checks/{…}`. */
  path: string;
  /** Name of the type's check in the OpenAPI document. */
  title: string;
  /** The name of the type in a sentence. */
  words: string;
  /** Last path segments of `/v1/analytics/{…}/{id}`; the first one is the usual name. */
  analyticsPaths: readonly [string, ...string[]];
  /** Smallest value of `frequency`, in minutes; 0 also allows runs every few seconds. */
  minFrequency: number;
  /** `agents`: as jobs. `service`: in the service's own browser. `nobody`: the check waits for pings. */
  runBy: 'agents' | 'service' | 'nobody';
  /** True: the check has locations, its own or its group's. */
  hasLocations: boolean;
  /** True: failed attempts are repeated according to retryStrategy and doubleCheck. */
  isRetried: boolean;
  /** True: retryStrategy may restrict the failures that are repeated (`onlyOn`). */
  mayRetryOnlyOn: boolean;
  /**
   * `script`: each run needs customer code. `phases`: only with setup or teardown. `none`: the service stores no
   * code.
   */
  code: 'script' | 'phases' | 'none';
  /** True: a check may name a runtime or inherit it from its group. */
  hasRuntime: boolean;
  /** True: the runtime must support multi-step checks. */
  needsMultiStepSupport: boolean;
  /** True: its jobs carry the account's client certificates for their host. */
  hasClientCertificates: boolean;
  /** True: its jobs carry the group's headers, parameters, password and assertions. */
  hasHttpDefaults: boolean;
  /** True: a scheduled run is skipped while an earlier one is queued or running. */
  waitsForEarlierRun: boolean;
  /** True: the run's log can be read while it runs. */
  hasLiveLog: boolean;
  /** How a session's run is cancelled; null = it cannot be, because it takes only seconds. */
  cancel: 'job' | 'agentic run' | null;
  /** True: results count tests (`totals`). */
  hasTotals: boolean;
  /** True: a trigger that waits for the run returns its response time. */
  answersResponseTime: boolean;
  /** True: a `connect` timing in a timeout proves that the target accepted the connection. */
  connectProvesConnection: boolean;
  /** True: results hold the route to the target, and a changed one is recorded. */
  hasRoute: boolean;
  /** True: of uneventful results only what differs from an earlier one is stored, since statements read only parts that always are. */
  sharesBodies: boolean;
};

const usual = {
  minFrequency: 0,
  runBy: 'agents',
  hasLocations: true,
  isRetried: true,
  mayRetryOnlyOn: false,
  code: 'none',
  hasRuntime: true,
  needsMultiStepSupport: false,
  hasClientCertificates: false,
  hasHttpDefaults: false,
  waitsForEarlierRun: false,
  hasLiveLog: false,
  cancel: null,
  hasTotals: false,
  answersResponseTime: false,
  connectProvesConnection: true,
  hasRoute: false,
  sharesBodies: false,
} as const;

const script = { ...usual, minFrequency: 1, code: 'script' } as const;
/** For types that involve neither an agent nor a location. */
const withoutAgents = { ...usual, hasLocations: false, isRetried: false, hasRuntime: false } as const;

export const serviceCheckTypes: { readonly [T in CheckType]: ServiceCheckType } = {
  URL: {
    ...usual,
    sharesBodies: true,
    path: 'url',
    title: 'UrlCheck',
    words: 'a URL monitor',
    analyticsPaths: ['url-checks', 'url-monitors'],
    mayRetryOnlyOn: true,
  },
  API: {
    ...usual,
    sharesBodies: true,
    path: 'api',
    title: 'ApiCheck',
    words: 'an API check',
    analyticsPaths: ['api-checks'],
    mayRetryOnlyOn: true,
    code: 'phases',
    hasClientCertificates: true,
    hasHttpDefaults: true,
    answersResponseTime: true,
  },
  TCP: {
    ...usual,
    sharesBodies: true,
    path: 'tcp',
    title: 'TcpCheck',
    words: 'a TCP monitor',
    analyticsPaths: ['tcp-checks', 'tcp-monitors'],
    connectProvesConnection: false,
  },
  DNS: {
    ...usual,
    sharesBodies: true,
    path: 'dns',
    title: 'DnsCheck',
    words: 'a DNS monitor',
    analyticsPaths: ['dns-checks', 'dns-monitors'],
  },
  ICMP: {
    ...usual,
    sharesBodies: true,
    path: 'icmp',
    title: 'IcmpCheck',
    words: 'an ICMP monitor',
    analyticsPaths: ['icmp-checks', 'icmp-monitors'],
  },
  SSL: {
    ...usual,
    path: 'ssl',
    title: 'SslCheck',
    words: 'an SSL monitor',
    analyticsPaths: ['ssl'],
    hasClientCertificates: true,
  },
  GRPC: {
    ...usual,
    path: 'grpc',
    title: 'GrpcCheck',
    words: 'a gRPC monitor',
    analyticsPaths: ['grpc-checks'],
    hasClientCertificates: true,
  },
  TRACEROUTE: {
    ...usual,
    path: 'traceroute',
    title: 'TracerouteCheck',
    words: 'a traceroute monitor',
    analyticsPaths: ['traceroute'],
    hasRoute: true,
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
    minFrequency: 1,
    // Playwright retries tests itself, with the project's packages.
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
    minFrequency: 5,
    runBy: 'service',
    cancel: 'agentic run',
  },
};

/** The row of a type; null if a newer version added the type. */
export function serviceCheckType(type: string): ServiceCheckType | null {
  return isCheckType(type) ? serviceCheckTypes[type] : null;
}

/** True for heartbeats: they do not run, they wait for pings. */
export const isPinged = (type: string): boolean => serviceCheckType(type)?.runBy === 'nobody';

/** The types whose row matches, in the table's order. */
export function typesWhere(holds: (row: ServiceCheckType) => boolean): CheckType[] {
  return Object.keys(serviceCheckTypes)
    .filter(isCheckType)
    .filter((type) => holds(serviceCheckTypes[type]));
}

/** The same types as an SQL list; at least one type must match. */
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
