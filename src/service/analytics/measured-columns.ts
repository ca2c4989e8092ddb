import type { CheckType } from '../../protocol/check-types.ts';
import type { ResultColumn } from '../db/filed-results.ts';
import { measuresSql, statusCodeJson } from './measures.ts';

/** The columns of results that `measuresSql` and the conditions around it need. */
export function measuredColumns(type: CheckType, metrics: readonly string[]): ResultColumn[] {
  const sql = measuresSql(type, metrics);
  // Bodies of responses are large, and the status code is stored besides them.
  const withoutCode = sql.replaceAll(statusCodeJson, '');
  const parts: ResultColumn[] = [];
  if (sql.includes(`r.body->'timings'`)) parts.push('timings');
  if (withoutCode.includes(`r.body->'details'`)) parts.push('details');
  else if (withoutCode !== sql) parts.push('status_code');
  return [
    'check_id',
    'started_at',
    'check_type',
    'run_location',
    'result_type',
    'status',
    'response_time',
    'attempts',
    ...parts,
  ];
}
