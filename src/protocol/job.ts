import Type, { type Static } from 'typebox';
import { attemptTimeoutMs, lanes, phaseTimeoutMs, suiteAfterMs, type JobType } from './check-types.ts';
import { ApiAssertion } from './assertions.ts';
import { KeyValue, requestSchemas } from './requests.ts';
import { Nullable, StringEnum } from './schema.ts';
import { ApiScripts, CheckScript } from './script.ts';
import { Suite } from './suite.ts';

const Uuid = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
// A pattern, not the format `date-time`: every job has three of them, and the pattern takes a tenth of the time.
const IsoTime = Type.String({
  pattern:
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$',
});

/** When and how failed attempts are retried. Null on a check = no retries. */
export const RetryStrategy = Type.Object({
  type: StringEnum(['FIXED', 'LINEAR', 'EXPONENTIAL', 'SINGLE_RETRY']),
  baseBackoffSeconds: Type.Number({ minimum: 0, maximum: 3600, default: 60 }),
  maxRetries: Type.Integer({ minimum: 1, maximum: 10, default: 2 }),
  maxDurationSeconds: Type.Integer({ minimum: 0, maximum: 600, default: 600 }),
  sameRegion: Type.Boolean({ default: true }),
  /** Retry only these failures; empty = every failure. API and URL only. */
  onlyOn: Type.Array(StringEnum(['NETWORK_ERROR']), { maxItems: 1, default: [] }),
});
export type RetryStrategy = Static<typeof RetryStrategy>;

/** A variable for templates and scripts of a check. A `secret` value, or one named SERVICE_SECRET_*, is scrubbed. */
export const EnvironmentVariable = Type.Object({
  key: Type.String({ minLength: 1, maxLength: 256 }),
  value: Type.String({ maxLength: 131_072 }),
  locked: Type.Boolean({ default: false }),
  secret: Type.Boolean({ default: false }),
});
export type EnvironmentVariable = Static<typeof EnvironmentVariable>;

/** A client certificate (mTLS) for hosts that match `host`: exact name or wildcard; PEM only. */
export const ClientCertificate = Type.Object({
  host: Type.String({ minLength: 1, maxLength: 253 }),
  cert: Type.String({ minLength: 1, maxLength: 65_536 }),
  key: Type.String({ minLength: 1, maxLength: 65_536 }),
  ca: Nullable(Type.String({ maxLength: 262_144 }), { default: null }),
  passphrase: Nullable(Type.String({ maxLength: 1024 }), { default: null }),
});
export type ClientCertificate = Static<typeof ClientCertificate>;

const jobFields = {
  jobId: Uuid,
  /** Shared by the jobs of one run in several locations (runParallel). */
  runId: Uuid,
  /** Shared by all attempts of this job, through hand-backs to other locations. */
  sequenceId: Uuid,
  checkId: Uuid,
  checkName: Type.String({ maxLength: 1024 }),
  lane: StringEnum(lanes),
  runLocation: Type.String({ minLength: 1, maxLength: 64 }),
  runSource: Type.String({ maxLength: 64, default: 'SCHEDULER' }),
  dueAt: IsoTime,
  /** Counts from 1. Above 1 if a job was handed back between attempts, or redelivered. */
  attempt: Type.Integer({ minimum: 1, maximum: 100 }),
  /** Start of attempt 1 (null before it), so that maxDurationSeconds spans hand-backs. */
  firstAttemptAt: Nullable(IsoTime),
  leaseToken: Uuid,
  leaseExpiresAt: IsoTime,
  /** No attempt may start or continue after this moment. */
  deadline: IsoTime,
  /** Milliseconds from the answer to the deadline, so that no clock matters; absent in jobs of older services. */
  remainingMs: Type.Optional(Type.Number({ minimum: 0 })),
  shouldFail: Type.Boolean(),
  /** Milliseconds; null = no limit. */
  degradedResponseTime: Nullable(Type.Number({ minimum: 0 })),
  maxResponseTime: Nullable(Type.Number({ minimum: 0 })),
  retryStrategy: Nullable(RetryStrategy),
  environmentVariables: Type.Array(EnvironmentVariable, { maxItems: 1000 }),
  /** A run that a person or a pipeline waits for: scripts see CI=1, and traces and videos are always kept. */
  testSession: Type.Optional(Type.Boolean()),
  /** The agent that runs the job holds its check and made the job itself. */
  isKept: Type.Optional(Type.Boolean()),
  /** Proxy of the private location for API and URL checks; may contain {{VARIABLE}}. */
  proxyUrl: Nullable(Type.String({ maxLength: 2048 })),
};

export const UrlJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('URL'),
  request: requestSchemas.URL,
});
/** With the defaults of the check's group there may be twice as many of each. */
const ApiJobRequest = Type.Object({
  ...requestSchemas.API.properties,
  headers: Type.Array(KeyValue, { maxItems: 200, default: [] }),
  queryParameters: Type.Array(KeyValue, { maxItems: 200, default: [] }),
  assertions: Type.Array(ApiAssertion, { maxItems: 200, default: [] }),
});
export const ApiJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('API'),
  request: ApiJobRequest,
  clientCertificates: Type.Array(ClientCertificate, { maxItems: 100 }),
  /** Absent = no setup and no teardown. */
  scripts: Type.Optional(ApiScripts),
  /** `{{GROUP_BASE_URL}}`: the url of the group's API defaults. */
  groupBaseUrl: Type.Optional(Type.String({ maxLength: 2048 })),
});
export const TcpJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('TCP'),
  request: requestSchemas.TCP,
});
export const DnsJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('DNS'),
  request: requestSchemas.DNS,
});
export const IcmpJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('ICMP'),
  request: requestSchemas.ICMP,
  /** Packet loss in percent at which the check is degraded, and at which it fails. */
  degradedPacketLossThreshold: Type.Number({ minimum: 0, maximum: 100 }),
  maxPacketLossThreshold: Type.Number({ minimum: 0, maximum: 100 }),
});

export const GrpcJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('GRPC'),
  request: requestSchemas.GRPC,
  clientCertificates: Type.Array(ClientCertificate, { maxItems: 100 }),
});

export const SslJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('SSL'),
  request: requestSchemas.SSL,
  clientCertificates: Type.Array(ClientCertificate, { maxItems: 100 }),
});

export const TracerouteJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('TRACEROUTE'),
  request: requestSchemas.TRACEROUTE,
});

const scriptJobFields = {
  ...jobFields,
  script: CheckScript,
  /** Host whose certificate is checked after the script has passed; an invalid or expired one fails the run. */
  sslCheckDomain: Nullable(Type.String({ maxLength: 253 }), { default: null }),
};
export const BrowserJob = Type.Object({ ...scriptJobFields, checkType: Type.Literal('BROWSER') });
export const MultiStepJob = Type.Object({ ...scriptJobFields, checkType: Type.Literal('MULTI_STEP') });
export const PlaywrightJob = Type.Object({
  ...jobFields,
  checkType: Type.Literal('PLAYWRIGHT'),
  suite: Suite,
});

/** The job's schema by type; the agent validates against it before it runs anything. */
export const jobSchemas = {
  URL: UrlJob,
  API: ApiJob,
  TCP: TcpJob,
  DNS: DnsJob,
  ICMP: IcmpJob,
  SSL: SslJob,
  GRPC: GrpcJob,
  TRACEROUTE: TracerouteJob,
  BROWSER: BrowserJob,
  MULTI_STEP: MultiStepJob,
  PLAYWRIGHT: PlaywrightJob,
} as const satisfies { [T in JobType]: unknown };

type Schemas = typeof jobSchemas;
// Uses the table's own key type, so that a type without a row is one error at the table, not one at each use of a
// job.
export type JobOf<T extends JobType> = Static<Schemas[T & keyof Schemas]>;
export type Job = { [T in keyof Schemas]: JobOf<T> }[keyof Schemas];

/**
 * Time limit of one attempt of a job, in milliseconds. For API checks it adds the setup and teardown scripts and the
 * wait for a process; for suites it is the requested time plus the work around the tests.
 */
export function attemptLimitMs(
  job: Pick<Job, 'checkType'> & {
    scripts?: Static<typeof ApiScripts>;
    suite?: Pick<Suite, 'maxMinutes'>;
  },
): number {
  if (job.suite !== undefined) return job.suite.maxMinutes * 60_000 + suiteAfterMs;
  const base = attemptTimeoutMs[job.checkType];
  if (job.scripts === undefined) return base;
  const scripts = job.scripts.setup.length + job.scripts.teardown.length;
  return scripts === 0 ? base : base + scripts * phaseTimeoutMs + 10_000;
}

/** The fields that are readable in any job, even one of an unknown type: enough to answer for it. */
export const JobEnvelope = Type.Object({
  jobId: Uuid,
  leaseToken: Uuid,
  attempt: Type.Integer({ minimum: 1 }),
  checkType: Type.String({ maxLength: 64 }),
});
export type JobEnvelope = Static<typeof JobEnvelope>;
