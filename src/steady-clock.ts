import { uptime } from 'node:os';

/**
 * The time of day, from a clock that never jumps. It runs with the monotonic clock and follows the system's clock
 * slowly. When someone sets the system's clock, nothing that is planned, leased or measured by this clock notices.
 */
export type SteadyClock = {
  /** Milliseconds since the epoch. Never goes back, except when it adopts a jump. */
  now: () => number;
  /** The sum of the jumps that it has adopted, in milliseconds; positive = forward. */
  adopted: () => number;
};

/** The clocks of this machine, in milliseconds: the time of day, a monotonic clock, and one that counts sleep too. */
export const systemClock = {
  wall: () => Date.now(),
  elapsed: () => performance.now(),
  boot: () => uptime() * 1000,
};

/** A larger difference is a jump: nobody corrects a clock by so much slowly. */
const jumpMs = 10_000;
/** Share of the passing time by which the clock may be faster or slower while it follows the system's. */
const slewRate = 0.005;
/** A jump that lasts this long is how the clock is meant to be. It is then adopted in one step. */
const adoptAfterMs = 15 * 60_000;

/**
 * Creates the clock at the system's time. `elapsed` is a monotonic clock that may stand still while the machine sleeps;
 * `boot` counts that time too. All are in milliseconds.
 */
export function createSteadyClock({
  wall = systemClock.wall,
  elapsed = systemClock.elapsed,
  boot = systemClock.boot,
}: { wall?: () => number; elapsed?: () => number; boot?: () => number } = {}): SteadyClock {
  let last = elapsed();
  let offset = wall() - last;
  /** Time that the machine has slept: what `boot` counts and `elapsed` does not. */
  let slept = boot() - last;
  let adopted = 0;
  let jump: { since: number; difference: number } | null = null;

  return {
    now: () => {
      const at = elapsed();
      const passed = at - last;
      last = at;
      let difference = wall() - at - offset;
      if (Math.abs(difference) > jumpMs) {
        // The machine has slept: the time has really passed.
        const more = boot() - at - slept;
        if (more > jumpMs) {
          slept += more;
          offset += more;
          difference -= more;
        }
      }
      if (Math.abs(difference) <= jumpMs) {
        jump = null;
        offset += Math.max(-passed * slewRate, Math.min(passed * slewRate, difference));
      } else if (jump === null || Math.abs(difference - jump.difference) > jumpMs) {
        jump = { since: at, difference };
      } else if (at - jump.since >= adoptAfterMs) {
        jump = null;
        offset += difference;
        adopted += difference;
      }
      return Math.floor(at + offset);
    },
    adopted: () => adopted,
  };
}
