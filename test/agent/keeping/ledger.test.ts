import { expect, test } from 'vitest';
import { createLedger } from '../../../src/agent/keeping/ledger.ts';

/** Up to when the runs of held checks are reported. */

const start = 1_790_000_040_000;
const hour = 3_600_000;

test('runs whose results still wait are not reported, however long the service has been away', () => {
  const ledger = createLedger();
  for (let count = 0; count < 24; count += 1) ledger.open(start + count * hour);
  const now = start + 48 * hour;
  expect(ledger.reportedTo(now, null, start)).toBe(start - 1);
  ledger.settle(start);
  expect(ledger.reportedTo(now, null, start + hour)).toBe(start + hour - 1);
});

test('a run whose result is nowhere any more is forgotten after more than a day', () => {
  const ledger = createLedger();
  ledger.open(start);
  ledger.open(start + hour);
  const now = start + 26 * hour;
  expect(ledger.reportedTo(now, null)).toBe(start - 1);
  expect(ledger.reportedTo(now + 1, null)).toBe(start + hour - 1);
});

test('a report of runs that were due long ago is open from when it was written', () => {
  const ledger = createLedger();
  const now = start + 48 * hour;
  ledger.open(start, now);
  expect(ledger.reportedTo(now, null)).toBe(start - 1);
  expect(ledger.reportedTo(now + 27 * hour, null, now)).toBe(start - 1);
  expect(ledger.reportedTo(now + 27 * hour, null)).toBe(now + 27 * hour);
});
