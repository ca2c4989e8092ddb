import Type, { type Static } from 'typebox';
import { serviceCheckType } from '../checks/types/table.ts';

/** Counts of a suite run's tests by result. They are stored next to the result, for graphs of many runs. */

/** Flaky = passed after a retry. A degraded test also counts by its own status. */
const names = [
  'tests',
  'passed',
  'failed',
  'flaky',
  'skipped',
  'timedOut',
  'interrupted',
  'degraded',
] as const;

const Count = Type.Integer({ minimum: 0 });

export const SuiteTotals = Type.Object({
  tests: Count,
  passed: Count,
  failed: Count,
  flaky: Type.Integer({ minimum: 0, description: 'Passed after a retry.' }),
  skipped: Count,
  timedOut: Count,
  interrupted: Type.Integer({ minimum: 0, description: 'Cut off, or not begun, when the run ended.' }),
  degraded: Type.Integer({ minimum: 0, description: 'Marked as degraded, whatever else they came to.' }),
});
export type SuiteTotals = Static<typeof SuiteTotals>;

const maxTests = 1_000_000;

/** The totals in the details of a suite's result, as far as they are valid; null = none. */
export function totalsOf(checkType: string, details: { [name: string]: unknown }): SuiteTotals | null {
  const totals = details['totals'];
  if (serviceCheckType(checkType)?.hasTotals !== true || typeof totals !== 'object' || totals === null)
    return null;
  const counts = totals as { [name: string]: unknown }; // any object has fields by name
  const count = (name: string) => {
    const value = counts[name];
    return typeof value === 'number' && value >= 0 && value <= maxTests ? Math.trunc(value) : 0;
  };
  return Object.fromEntries(names.map((name) => [name, count(name)])) as SuiteTotals; // of each name its number
}
