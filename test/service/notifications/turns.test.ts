import { expect, test } from 'vitest';
import { createTurns, type Turn } from '../../../src/service/notifications/turns.ts';

/** Whose turn it is among notifications. */

test('a channel, an account and a gateway have limits; a deferred call gets the time of its next try', () => {
  let time = 1_000_000;
  const turns = createTurns(() => time);
  const begin = (
    count: number,
    id: (index: number) => number,
    account: (index: number) => string,
    type: 'WEBHOOK' | 'EMAIL' = 'WEBHOOK',
  ) => Array.from({ length: count }, (_, index) => turns.begin({ id: id(index), type }, account(index)));
  const running = (all: readonly Turn[]) => all.flatMap((turn) => (turn.isNow ? [turn] : []));
  const waits = (all: readonly Turn[]) => all.flatMap((turn) => (turn.isNow ? [] : [turn.waitMs]));

  const hanging = begin(
    6,
    () => 1,
    () => 'a',
  );
  expect([running(hanging).length, waits(hanging)]).toEqual([4, [25, 50]]);
  const others = begin(
    9,
    (index) => 10 + index,
    () => 'a',
  );
  expect(running(others)).toHaveLength(8);
  expect(
    running(
      begin(
        1,
        () => 99,
        () => 'b',
      ),
    ),
  ).toHaveLength(1);

  // Those that wait come one after the other, as fast as the target lets them.
  time += 10_000;
  for (const turn of running(hanging)) turn.end();
  const again = begin(
    6,
    () => 1,
    () => 'a',
  );
  expect([running(again).length, waits(again)]).toEqual([4, [2500, 5000]]);

  // A gateway belongs to all accounts.
  const mails = begin(
    20,
    (index) => 100 + index,
    (index) => `account ${index}`,
    'EMAIL',
  );
  expect(running(mails)).toHaveLength(16);
});
