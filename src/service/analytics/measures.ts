import type { CheckType } from '../../protocol/check-types.ts';
import { largestValue } from '../engine/histogram.ts';

/**
 * The measures of each check type and where they are in a stored result. Rollups and queries of raw results share this
 * table.
 */

export type Unit = 'milliseconds' | 'score' | 'count' | 'percentage';

export type Measure = {
  name: string;
  label: string;
  unit: Unit;
  /** SQL over `r` (a row of check_results), `part` (see `pieces`) and, for measures of pages, `page`. */
  sql: string;
  /** SQL for the text that the value of one run is shown as; without it, the number. */
  text?: string;
  /** Whether it is measured per page of a browser check rather than per run. */
  ofPage?: true;
};

/** SQL for a JSON number; null for other values and for numbers out of range. */
const numberIn = (json: string) =>
  `case jsonb_typeof(${json}) when 'number' then case when (${json})::numeric between 0 and ${largestValue} then (${json})::float8 end end`;

/** SQL for a JSON text; null for other values. */
const textIn = (json: string) =>
  `case jsonb_typeof(${json}) when 'string' then left(${json}#>>'{}', 100) end`;

/** A text that is ranked, so that intervals have an average too: the higher, the better. */
const ranked = (
  { name, label, unit }: Pick<Measure, 'name' | 'label' | 'unit'>,
  json: string,
  ranks: { readonly [text: string]: number },
): Measure => {
  const cases = Object.entries(ranks).map(([text, rank]) => `when '${text}' then ${rank}`);
  return { name, label, unit, sql: `case ${textIn(json)} ${cases.join(' ')} end`, text: textIn(json) };
};

/** 1 for true, 0 for false: the average is a share. */
const yesOrNo = (name: string, label: string, json: string): Measure => ({
  name,
  label,
  unit: 'count',
  sql: `case ${json} when 'true' then 1 when 'false' then 0 end`,
});

/** SQL for the bits of the key that a cipher suite encrypts with; 0 for no encryption and for unknown suites. */
const cipherBits = (json: string) =>
  `case when ${textIn(json)} is null then null when ${textIn(json)} ~ 'CHACHA20|_256_' then 256
     when ${textIn(json)} like '%_3DES_%' then 112 when ${textIn(json)} ~ '_DES_' then 56
     when ${textIn(json)} ~ '_128_|_SEED_|_IDEA_' then 128 else 0 end`;

/** SQL for the sum of phases. A phase that did not take place counts as 0; without timings the result is null. */
const phases = (...names: string[]) => {
  const sum = names.map((name) => `coalesce(${numberIn(`part.timings->'${name}'`)}, 0)`).join(' + ');
  return `case jsonb_typeof(part.timings) when 'object' then ${sum} end`;
};

const milliseconds = (name: string, label: string, sql: string): Measure => ({
  name,
  label,
  unit: 'milliseconds',
  sql,
});

const responseTime = milliseconds(
  'responseTime',
  'Response time',
  `case when r.response_time between 0 and ${largestValue} then r.response_time end`,
);

const httpPhases = [
  milliseconds('wait', 'Wait', phases('remainder')),
  milliseconds('dns', 'DNS', phases('dns')),
  milliseconds('tcp', 'TCP', phases('connect', 'tunnel')),
  milliseconds('firstByte', 'First byte', phases('tls', 'firstByte')),
  milliseconds('download', 'Download', phases('download')),
];

const tcpPhases = [
  milliseconds('total', 'Total', phases('total')),
  milliseconds('dns', 'DNS', phases('dns')),
  milliseconds('connection', 'Connection', phases('connect')),
  milliseconds('data', 'Data', phases('firstByte', 'download', 'remainder')),
];

const latency = (name: string, field: string, label: string) =>
  milliseconds(name, label, numberIn(`part.latency->'${field}'`));

const errors = (name: string, label: string): Measure => ({
  name,
  label,
  unit: 'count',
  sql: `coalesce(${numberIn(`part.errors->'${name}'`)}, 0)`,
});

const vital = (name: string, label: string, unit: Unit = 'milliseconds'): Measure => ({
  name,
  label,
  unit,
  sql: numberIn(`page.page->'webVitals'->'${name}'->'value'`),
  ofPage: true,
});

/** SQL for the status code of an HTTP response, from the body of a result. */
export const statusCodeJson = `r.body->'details'->'response'->'status'`;

/** The timings of an attempt, from the body of a result. */
const timings = `r.body->'timings' as timings`;

type Measured = {
  measures: readonly Measure[];
  /** Parts of the body that several measures read, extracted once per result. */
  pieces: readonly string[];
  /** What results can be grouped by in addition to their location; null = nothing. */
  groupKey: 'statusCode' | 'pageIndex' | null;
  /** SQL over `part`: the group of a run. Pages have their own groups. */
  groupOfRun: string;
};

const ungrouped = { groupKey: null, groupOfRun: `''` } as const;
/** For types that are measured per run only. */
const onlyRuns: Measured = { ...ungrouped, measures: [responseTime], pieces: [] };

/** Measures by check type. Every type also has `availability` and `retries`, which are computed from runs. */
export const measured: { readonly [T in CheckType]: Measured } = {
  API: {
    measures: [responseTime, ...httpPhases],
    pieces: [timings, `${statusCodeJson} as code`],
    groupKey: 'statusCode',
    groupOfRun: `coalesce(substring(part.code::text from '^[1-9][0-9][0-9]$'), '')`,
  },
  URL: { ...ungrouped, measures: [responseTime, ...httpPhases], pieces: [timings] },
  TCP: { ...ungrouped, measures: [responseTime, ...tcpPhases], pieces: [timings] },
  DNS: {
    ...ungrouped,
    measures: [responseTime, milliseconds('total', 'Total', phases('total'))],
    pieces: [timings],
  },
  ICMP: {
    ...ungrouped,
    measures: [
      responseTime,
      { name: 'packetLoss', label: 'Packet loss', unit: 'percentage', sql: numberIn('part.loss') },
      latency('latencyMin', 'min', 'Lowest latency'),
      latency('latencyMax', 'max', 'Highest latency'),
      latency('latencyAvg', 'avg', 'Average latency'),
      latency('latencyStdDev', 'stdDev', 'Standard deviation of latency'),
    ],
    pieces: [`r.body->'details'->'packetLoss' as loss`, `r.body->'details'->'latency' as latency`],
  },
  SSL: {
    ...ungrouped,
    measures: [
      responseTime,
      milliseconds('handshakeTimeMs', 'Handshake', numberIn(`part.details->'handshakeTimeMs'`)),
      {
        name: 'daysUntilExpiry',
        label: 'Days until expiry',
        unit: 'count',
        // An expired certificate has none left.
        sql: `case when part.details->>'daysUntilExpiry' like '-%' then 0 else ${numberIn(`part.details->'daysUntilExpiry'`)} end`,
      },
      ranked({ name: 'tlsVersion', label: 'TLS version', unit: 'score' }, `part.details->'tlsVersion'`, {
        'SSL3.0': 0.9,
        'TLS1.0': 1,
        'TLS1.1': 1.1,
        'TLS1.2': 1.2,
        'TLS1.3': 1.3,
      }),
      {
        name: 'cipherSuite',
        label: 'Cipher suite, by the bits of its key',
        unit: 'count',
        sql: cipherBits(`part.details->'cipherSuite'`),
        text: textIn(`part.details->'cipherSuite'`),
      },
      yesOrNo('hostnameVerified', 'Name verified', `part.details->'hostnameVerified'`),
      yesOrNo('chainTrusted', 'Chain trusted', `part.details->'chainTrusted'`),
      yesOrNo('ocspStapled', 'OCSP response stapled', `part.details->'response'->'ocspStapled'`),
      {
        name: 'keySizeBits',
        label: 'Key size in bits',
        unit: 'count',
        sql: numberIn(`part.details->'response'->'certificate'->'keySizeBits'`),
      },
      ranked(
        { name: 'baselineVerdict', label: 'Verdict of the security baseline', unit: 'score' },
        `part.details->'baselineVerdict'`,
        { fail: 0, warn: 1, pass: 2 },
      ),
      ranked(
        { name: 'baselineGrade', label: 'Grade of the security baseline', unit: 'score' },
        `part.details->'baselineGrade'`,
        { F: 0, B: 1, 'A-': 2 },
      ),
    ],
    pieces: [`r.body->'details' as details`],
  },
  GRPC: {
    ...ungrouped,
    measures: [
      responseTime,
      milliseconds('total', 'Total', phases('total')),
      milliseconds('dns', 'DNS', phases('dns')),
      milliseconds('connect', 'Connection and call', numberIn(`part.own->'connect'`)),
    ],
    pieces: [timings, `r.body->'details'->'timingPhases' as own`],
  },
  TRACEROUTE: {
    ...ungrouped,
    measures: [
      responseTime,
      milliseconds('finalHopLatencyAvg', 'Latency of the target', numberIn(`part.latency->'avg'`)),
      { name: 'totalHops', label: 'Hops', unit: 'count', sql: numberIn('part.hops') },
      { name: 'packetLoss', label: 'Packet loss', unit: 'percentage', sql: numberIn('part.loss') },
    ],
    pieces: [
      `r.body->'details'->'finalHopLatency' as latency`,
      `r.body->'details'->'totalHops' as hops`,
      `r.body->'details'->'packetLoss' as loss`,
    ],
  },
  BROWSER: {
    measures: [
      responseTime,
      vital('TTFB', 'Time to first byte'),
      vital('FCP', 'First contentful paint'),
      vital('LCP', 'Largest contentful paint'),
      vital('CLS', 'Cumulative layout shift', 'score'),
      vital('TBT', 'Total blocking time'),
      errors('consoleErrors', 'Console errors'),
      errors('networkErrors', 'Network errors'),
      errors('userScriptErrors', 'Script errors'),
      errors('documentErrors', 'Document errors'),
    ],
    pieces: [`r.body->'details'->'traceSummary' as errors`, `r.body->'details'->'pages' as pages`],
    groupKey: 'pageIndex',
    groupOfRun: `''`,
  },
  MULTI_STEP: onlyRuns,
  PLAYWRIGHT: onlyRuns,
  AGENTIC: onlyRuns,
  HEARTBEAT: { ...onlyRuns, measures: [] },
};

/** Maximum number of measured pages per run. */
const maxPages = 20;

/**
 * SQL that joins to `check_results r` the rows `m (metric, group_key, value, shown)` of these metrics; missing values
 * are null, and so is the text `shown` if the value is shown as it is.
 * The metric `retries` is always available, because it counts runs.
 */
export function measuresSql(type: CheckType, metrics: readonly string[]): string {
  const { measures, pieces, groupOfRun: key } = measured[type];
  const selected = measures.filter(({ name }) => metrics.includes(name));
  const ofRun = selected.filter(({ ofPage }) => ofPage !== true);
  const ofPage = selected.filter((measure) => measure.ofPage === true);
  const rows = ofRun.map(({ name, sql, text = 'null' }) => `('${name}', ${key}, ${sql}, ${text}::text)`);
  if (metrics.includes('retries')) rows.push(`('retries', ${key}, r.attempts::float8, null)`);
  const selects: string[] = [];
  if (rows.length > 0)
    selects.push(`select * from (values ${rows.join(', ')}) as v (metric, group_key, value, shown)`);
  if (ofPage.length > 0) {
    const values = ofPage.map(({ name, sql }) => `('${name}', ${sql})`).join(', ');
    selects.push(`select w.metric, (page.position - 1)::text, w.value, null
      from (select * from jsonb_array_elements(case jsonb_typeof(part.pages) when 'array' then part.pages else '[]' end)
        with ordinality as e (page, position) limit ${maxPages}) as page
      cross join lateral (values ${values}) as w (metric, value)`);
  }
  const sql = selects.join(' union all ');
  // `offset 0` makes PostgreSQL extract each part once per result, not once per measure.
  const lateral = sql.includes('part.')
    ? `cross join lateral (select ${pieces.join(', ')} offset 0) as part `
    : '';
  return `${lateral}cross join lateral (${sql}) as m (metric, group_key, value, shown)`;
}

/** All metrics in the rollups of a type. */
export const rolledUpMetrics = (type: CheckType): string[] => [
  ...measured[type].measures.map(({ name }) => name),
  'retries',
];
