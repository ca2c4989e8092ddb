import type { PlainColumn, ResultColumn } from '../db/filed-results.ts';
import { wholeBytes } from '../db/whole-body.ts';

/** The columns of the files: each is a column of `check_results`, or a part of its body as JSON text. */

export type ColumnKind = 'uuid' | 'time' | 'text' | 'flag' | 'real' | 'count';

/** `sql`: over `r`, a row of `check_results`, and `whole.body`, its body. Times are milliseconds since the epoch. */
type Column = { readonly kind: ColumnKind; readonly isRequired: boolean; readonly sql: string };

const of = (kind: ColumnKind, name: string, isRequired = true): Column => ({
  kind,
  isRequired,
  sql: kind === 'time' ? `(extract(epoch from r.${name}) * 1000)::float8` : `r.${name}`,
});
const json = (sql: string): Column => ({ kind: 'text', isRequired: false, sql: `(${sql})::text` });

export const bodyParts = ['assertions', 'timings', 'details', 'artifacts', 'log'] as const;

const others = `whole.body - '{${bodyParts.join(',')}}'::text[]`;

export const columns: { readonly [C in ResultColumn]: Column } = {
  id: of('uuid', 'id'),
  check_id: of('uuid', 'check_id'),
  started_at: of('time', 'started_at'),
  stopped_at: of('time', 'stopped_at'),
  stored_at: of('time', 'stored_at'),
  job_id: of('uuid', 'job_id', false),
  lease_token: of('uuid', 'lease_token', false),
  sequence_id: of('uuid', 'sequence_id'),
  check_type: of('text', 'check_type'),
  run_location: of('text', 'run_location'),
  result_type: of('text', 'result_type'),
  status: of('text', 'status'),
  has_failures: of('flag', 'has_failures'),
  has_errors: of('flag', 'has_errors'),
  is_degraded: of('flag', 'is_degraded'),
  over_max_response_time: of('flag', 'over_max_response_time'),
  is_cancelled: of('flag', 'is_cancelled'),
  response_time: of('real', 'response_time'),
  attempts: of('count', 'attempts'),
  reason: json('r.reason'),
  totals: json('r.totals'),
  assertions: json(`whole.body->'assertions'`),
  timings: json(`whole.body->'timings'`),
  details: json(`whole.body->'details'`),
  artifacts: json(`whole.body->'artifacts'`),
  log: json(`whole.body->'log'`),
  other: json(`nullif(${others}, '{}'::jsonb)`),
  body_bytes: { kind: 'count', isRequired: true, sql: wholeBytes('r.') },
  status_code: {
    kind: 'count',
    isRequired: false,
    sql: `substring((whole.body->'details'->'response'->'status')::text from '^[1-9][0-9][0-9]$')::integer`,
  },
};

/** The status code in the text of `details`, as the column of that name has it. */
export function statusCodeIn(details: unknown): number | null {
  const parsed = typeof details === 'string' ? (JSON.parse(details) as unknown) : null;
  const { response } = (parsed ?? {}) as { response?: { status?: unknown } | null }; // every field is looked at
  const status = response?.status;
  return typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 999
    ? status
    : null;
}

export const columnNames = Object.keys(columns) as ResultColumn[]; // its own keys

const plain: { readonly [C in PlainColumn]: true } = {
  started_at: true,
  stopped_at: true,
  stored_at: true,
  check_type: true,
  run_location: true,
  result_type: true,
  status: true,
  has_failures: true,
  has_errors: true,
  is_degraded: true,
  over_max_response_time: true,
  is_cancelled: true,
  response_time: true,
  attempts: true,
};

export const isPlain = (name: ResultColumn): name is PlainColumn => Object.hasOwn(plain, name);

/** A row as it is written; null where a column has no value. */
export type FileRow = { readonly [C in ResultColumn]: string | number | boolean | null };
