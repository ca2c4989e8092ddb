/** The check types of the specification ("What the service does"), and newer ones. */
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
  'SSL',
  'GRPC',
  'TRACEROUTE',
] as const;
export type CheckType = (typeof checkTypes)[number];

/** The three lanes: separate queues, so that no kind of job delays another. */
export const lanes = ['uptime', 'browser', 'suite'] as const;
export type Lane = (typeof lanes)[number];

/** Maximum run time of the script of a browser or multi-step check, in milliseconds. */
export const scriptTimeoutMs = 240_000;
/** Maximum run time of one setup or teardown script of an API check, in milliseconds. */
export const phaseTimeoutMs = 10_000;
/** Time for work after a suite's tests, in milliseconds: the agent reads the report, zips and scrubs the files. */
export const suiteAfterMs = 10 * 60_000;

/** How checks of a type are executed; types of one kind share most of the code. */
type CheckTypeRow =
  | {
      /**
       * `probe`: one request, which the agent makes and measures itself. `script`: a script in a child process, with
       * the packages of a runtime. `suite`: a customer's complete project.
       */
      kind: 'probe' | 'script' | 'suite';
      /** The lane in which an agent runs jobs of the type. */
      lane: Lane;
      /**
       * Time limit of one attempt, in milliseconds; the executor's signal fires then. For scripts it includes the
       * work before and after them: writing files, collecting artifacts.
       */
      attemptTimeoutMs: number;
      /**
       * False for types that never contain customer code: an agent without script code runs these (the uptime image).
       */
      mayHaveScripts: boolean;
    }
  /** The service itself makes these checks; no agent gets their jobs. `isRun`: a trigger or a session may start it. */
  | { kind: 'service'; isRun: boolean };

const probe = { kind: 'probe', lane: 'uptime', attemptTimeoutMs: 30_000, mayHaveScripts: false } as const;
const script = {
  kind: 'script',
  lane: 'browser',
  attemptTimeoutMs: scriptTimeoutMs + 60_000,
  mayHaveScripts: true,
} as const;

/**
 * The facts about each type that agent and service need. Add a new type here first; the compiler then names the other
 * tables.
 */
const rows = {
  URL: probe,
  // It may have setup and teardown scripts.
  API: { ...probe, mayHaveScripts: true },
  TCP: probe,
  DNS: probe,
  ICMP: probe,
  // The handshake, the questions to the authority and the scan have limits of their own within it.
  SSL: { ...probe, attemptTimeoutMs: 60_000 },
  // The check's own timeout, up to 180 s, applies first.
  GRPC: { ...probe, attemptTimeoutMs: 190_000 },
  // The trace has a limit of its own, of at most 30 s; the lookup of names comes before and after it.
  TRACEROUTE: { ...probe, attemptTimeoutMs: 45_000 },
  BROWSER: script,
  MULTI_STEP: script,
  // The limit in the job applies instead: see attemptLimitMs.
  PLAYWRIGHT: { kind: 'suite', lane: 'suite', attemptTimeoutMs: 70 * 60_000, mayHaveScripts: true },
  HEARTBEAT: { kind: 'service', isRun: false },
  AGENTIC: { kind: 'service', isRun: true },
} as const satisfies { readonly [T in CheckType]: CheckTypeRow };

export type CheckKind = CheckTypeRow['kind'];
/** The types whose rows have all fields of `Fields`. */
type TypesWith<Fields> = {
  [T in CheckType]: (typeof rows)[T] extends Fields ? T : never;
}[CheckType];

export type TypeOfKind<K extends CheckKind> = TypesWith<{ kind: K }>;
export type ProbeType = TypesWith<{ kind: 'probe' }>;
export type ScriptType = TypesWith<{ kind: 'script' }>;
export type SuiteType = TypesWith<{ kind: 'suite' }>;
/** Check types that reach agents as jobs. */
export type JobType = ProbeType | ScriptType | SuiteType;
/**
 * Types that the service runs itself: heartbeats, which wait for pings, and agentic checks, in the service's own
 * browser.
 */
export type ServiceType = TypesWith<{ kind: 'service' }>;
export type UptimeType = TypesWith<{ kind: 'probe'; mayHaveScripts: false }>;

/** The types of some rows, in the order of the table. */
function typesWhere<T extends CheckType>(holds: (row: CheckTypeRow) => boolean): readonly T[] {
  const all = Object.keys(rows) as CheckType[]; // the table has no other keys
  return all.filter((type): type is T => holds(rows[type]));
}

export const probeTypes = typesWhere<ProbeType>(({ kind }) => kind === 'probe');
export const scriptTypes = typesWhere<ScriptType>(({ kind }) => kind === 'script');
export const suiteTypes = typesWhere<SuiteType>(({ kind }) => kind === 'suite');
export const jobTypes: readonly JobType[] = [...probeTypes, ...scriptTypes, ...suiteTypes];
/** All types that an agent without script code runs (the uptime image). */
export const uptimeTypes = typesWhere<UptimeType>((row) => row.kind === 'probe' && !row.mayHaveScripts);
/** Types that agents or the service run: a trigger or a session may request a run. */
export const runnableTypes = typesWhere<CheckType>((row) => row.kind !== 'service' || row.isRun);

/** False for a type of a newer version. */
export const isCheckType = (type: string): type is CheckType => Object.hasOwn(rows, type);

/** One column of some rows, by type. */
function columnOf<T extends CheckType, V>(
  types: readonly T[],
  valueOf: (row: (typeof rows)[T]) => V,
): { readonly [K in T]: V } {
  const values = types.map((type) => [type, valueOf(rows[type])] as const);
  return Object.fromEntries(values) as { [K in T]: V }; // one entry for each type
}

export const kindOf = columnOf<CheckType, CheckKind>(checkTypes, ({ kind }) => kind);
export const laneOf = columnOf<JobType, Lane>(jobTypes, ({ lane }) => lane);
export const attemptTimeoutMs = columnOf<JobType, number>(jobTypes, (row) => row.attemptTimeoutMs);

/** The service's own data-centre locations: with a location key, an agent can join each of them. */
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
