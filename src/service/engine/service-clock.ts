import type { Log } from '../../log.ts';
import { createSteadyClock, type SteadyClock } from '../../steady-clock.ts';
import type { Queryable } from '../db/database.ts';
import { createLoop, type Loop } from './loop.ts';

/** The time that a service lives by: its host's, or that of the database that it shares with other replicas. */

/** The clocks of a host, in milliseconds, as in createSteadyClock. */
export type HostClock = { wall: () => number; elapsed: () => number; boot: () => number };

/** `loop` keeps the clock in step with the database's; null = there is nothing to follow but the host. */
export type ServiceClock = SteadyClock & { loop: Loop | null };

const everyMs = 30_000;
/** A prompter answer needs no second try. */
const promptMs = 50;
const tries = 5;
/** The error of a measurement is at most half its round trip. A slower answer says too little. */
const slowestMs = 2_000;
/** A larger difference means that the machine has slept. */
const sleptMs = 10_000;
/** A host's clock that differs by more is worth a line in the log. */
const noticeMs = 10_000;

/**
 * Creates the clock of a service. On a PostgreSQL server, every replica lives by the server's time, so that replicas
 * whose hosts' clocks disagree still agree about due times and leases. The time runs with the host's monotonic clock
 * between two measurements, and follows them slowly; a jump of the server's clock is treated like one of a host's.
 * Rejects if the database does not answer.
 */
export async function createServiceClock(options: {
  db: Queryable & { kind: 'embedded' | 'server' };
  host: HostClock;
  log: Log;
}): Promise<ServiceClock> {
  const { db, host, log } = options;
  if (db.kind === 'embedded') return { ...createSteadyClock(host), loop: null };
  const { wall, elapsed, boot } = host;
  const sleepNow = () => boot() - elapsed();
  let seen = { difference: wall() - elapsed(), sleep: sleepNow() };
  /** The time that the machine has slept. Asking for it is slow, and the time of day passes in that time as well. */
  const sleep = () => {
    const difference = wall() - elapsed();
    if (Math.abs(difference - seen.difference) > sleptMs / 10) seen = { difference, sleep: sleepNow() };
    return seen.sleep;
  };
  /** The server's time minus `elapsed`, and the time that the machine had slept, both when it was measured. */
  let anchor: { offset: number; sleep: number } | null = null;

  async function measure(): Promise<{ offset: number; errorMs: number }> {
    let best: { offset: number; errorMs: number } | null = null;
    for (let count = 0; count < tries; count++) {
      const asked = elapsed();
      const rows = await db.query<{ at: number }>(
        'select (extract(epoch from clock_timestamp()) * 1000)::float8 as at',
      );
      const errorMs = (elapsed() - asked) / 2;
      const offset = (rows[0]?.at ?? 0) - asked - errorMs;
      if (best === null || errorMs < best.errorMs) best = { offset, errorMs };
      if (errorMs * 2 <= promptMs) break;
    }
    return best ?? { offset: 0, errorMs: Infinity };
  }

  async function follow(): Promise<number> {
    const { offset, errorMs } = await measure();
    const expected = anchor === null ? null : anchor.offset + sleptSince(anchor.sleep);
    // A difference within the error of the measurement says nothing.
    const isKnown = expected !== null && (Math.abs(offset - expected) <= errorMs || errorMs * 2 > slowestMs);
    if (!isKnown) anchor = { offset, sleep: sleep() };
    return everyMs;
  }

  const sleptSince = (before: number) => {
    const slept = sleep() - before;
    return slept > sleptMs ? slept : 0;
  };

  await follow();
  const now = () => elapsed() + (anchor === null ? 0 : anchor.offset + sleptSince(anchor.sleep));
  const differenceMs = Math.round(wall() - now());
  if (Math.abs(differenceMs) > noticeMs)
    log.warn({ differenceMs }, "this host's clock differs from the database's, which the service uses");
  const loop = createLoop({ name: 'database clock', log, work: follow });
  return { ...createSteadyClock({ wall: now, elapsed, boot }), loop };
}
