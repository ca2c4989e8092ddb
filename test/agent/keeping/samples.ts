import type { Kept } from '../../../src/agent/keeping/kept.ts';
import type { PackedCheck } from '../../../src/agent/keeping/packed.ts';

/** A held check, and what a process that holds it keeps. */

export const packedCheck = (fields: Partial<PackedCheck> = {}): PackedCheck => ({
  checkId: 'c',
  holder: 'a',
  locationId: 'l',
  epoch: 1,
  from: 0,
  intervalSeconds: 60,
  offsetSeconds: 0,
  pauses: [],
  job: '{}',
  ...fields,
});

export const keptSample = (check: PackedCheck): Kept => ({
  holders: ['a'],
  checks: [check],
  reportedTo: null,
  heardAt: 1,
  stopsInOutages: false,
  skewMs: null,
  runs: [],
  variables: { tag: 't', list: [{ key: 'A', value: 'b' }] },
});
