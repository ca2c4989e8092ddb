import type { CheckType } from '../../protocol/check-types.ts';
import type { ResultColumn } from '../db/filed-results.ts';
import { measuresSql } from './measures.ts';

/** The columns of results that `measuresSql` and the conditions around it need. */
export function measuredColumns(type: CheckType, metrics: readonly string[]): ResultColumn[] {
  const sql = measuresSql(type, metrics);
  const parts = (['timings', 'details'] as const).filter((part) => sql.includes(`r.body->'${part}'`));
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
