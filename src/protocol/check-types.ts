/** The ten check types of the specification ("What the service does"). */
export const checkTypes = [
  'AGENTIC',
  'API',
  'BROWSER',
  'HEARTBEAT',
  'ICMP',
  'MULTI_STEP',
  'TCP',
  'PLAYWRIGHT',
  'URL',
  'DNS',
] as const;
export type CheckType = (typeof checkTypes)[number];

/** Types that make one request of their own; the agent measures them itself. */
export const probeTypes = ['URL', 'API', 'TCP', 'DNS', 'ICMP'] as const;
export type ProbeType = (typeof probeTypes)[number];

/**
 * Types that never come with a script: all that an agent without code for scripts runs (the uptime image). API is none of them,
 * since a check of it may have setup and teardown scripts.
 */
export const uptimeTypes = ['URL', 'TCP', 'DNS', 'ICMP'] as const satisfies readonly ProbeType[];

/** Types whose script runs in a child process on the packages of a runtime. */
export const scriptTypes = ['BROWSER', 'MULTI_STEP'] as const;
export type ScriptType = (typeof scriptTypes)[number];

/** The type whose job is a customer's whole project. */
export const suiteTypes = ['PLAYWRIGHT'] as const;
export type SuiteType = (typeof suiteTypes)[number];

/** Check types that reach agents as jobs today. HEARTBEAT and AGENTIC never do. */
export const jobTypes = [...probeTypes, ...scriptTypes, ...suiteTypes] as const;
export type JobType = (typeof jobTypes)[number];

/** Types that the service runs itself: heartbeats by waiting for pings, agentic checks in a browser of its own. */
export const serviceTypes = ['HEARTBEAT', 'AGENTIC'] as const;
export type ServiceType = (typeof serviceTypes)[number];

/** What is run, by agents or the service: a trigger or a session may ask for it. */
export const runnableTypes = [...jobTypes, 'AGENTIC'] as const;

/** The three lanes: separate queues, so that no kind of job delays another. */
export const lanes = ['uptime', 'browser', 'suite'] as const;
export type Lane = (typeof lanes)[number];

/** The lane in which an agent runs jobs of a type. */
export const laneOf: { readonly [T in JobType]: Lane } = {
  URL: 'uptime',
  API: 'uptime',
  TCP: 'uptime',
  DNS: 'uptime',
  ICMP: 'uptime',
  BROWSER: 'browser',
  MULTI_STEP: 'browser',
  PLAYWRIGHT: 'suite',
};

/** Longest time that the script of a browser or multi-step check may run, in milliseconds (facts, 2.8). */
export const scriptTimeoutMs = 240_000;
/** Longest time of one setup or teardown script of an API check, in milliseconds (facts, 2.3). */
export const phaseTimeoutMs = 10_000;

/**
 * Time that one attempt may take, in milliseconds; the executor's signal fires then. For scripts it spans what surrounds
 * them, too: the files before, the artifacts after.
 */
export const attemptTimeoutMs: { readonly [T in JobType]: number } = {
  URL: 30_000,
  API: 30_000,
  TCP: 30_000,
  DNS: 30_000,
  ICMP: 30_000,
  BROWSER: scriptTimeoutMs + 60_000,
  MULTI_STEP: scriptTimeoutMs + 60_000,
  // What the job allows counts instead: see attemptLimitMs.
  PLAYWRIGHT: 70 * 60_000,
};

/** The service's own data-centre locations (specification, Check.locations): each may be joined with a key. */
export const dataCenterLocations = [
  'us-east-1',
  'us-east-2',
  'us-west-1',
  'us-west-2',
  'ca-central-1',
  'sa-east-1',
  'eu-west-1',
  'eu-central-1',
  'eu-west-2',
  'eu-west-3',
  'eu-north-1',
  'eu-south-1',
  'me-south-1',
  'ap-southeast-1',
  'ap-northeast-1',
  'ap-east-1',
  'ap-southeast-2',
  'ap-southeast-3',
  'ap-northeast-2',
  'ap-northeast-3',
  'ap-south-1',
  'af-south-1',
] as const;
export type DataCenterLocation = (typeof dataCenterLocations)[number];
