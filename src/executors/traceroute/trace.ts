import type { TruncationReason } from '../../protocol/traceroute.ts';
import { noteAnswer } from '../evidence/trace-answers.ts';
import { hopRow, newHop, type Hop, type HopState } from '../evidence/trace-hops.ts';
import type { IpFamily } from '../interface/network.ts';
import { addressOf, loopIn } from './loop.ts';
import type { Prober } from './round.ts';

/** A finished trace, or as much of one as there was time for. */
export type Trace = {
  hops: Hop[];
  reached: boolean;
  truncation: TruncationReason;
  /** Addresses of the routers between which the route runs in a circle. */
  loop: string[] | null;
  /** Times of the target's answers, in order. */
  targetTimes: number[];
};

export type TraceLimits = { maxHops: number; maxUnknownHops: number; queries: number };

/** Silent hops after the last one that answered that later rounds probe again. */
const silentHops = 3;
/** Pause between rounds, because routers limit their answers. */
const roundPauseMs = 50;
/** Linux routers answer one host six times at once, and later once a second. */
const roundsAtOnce = 5;
const slowRoundMs = 1000;
/** The hop limit of the first probe, which no router drops. */
const enoughHops = 64;

/** Less than the second after which the kernel repeats a SYN. */
const longestWaitMs = 900;
/** The wait for an answer, while nothing is known about the target. */
const blindWaitMs = 500;
const shortestWaitMs = 250;

type State = {
  target: { address: string; family: IpFamily };
  limits: TraceLimits;
  hops: HopState[];
  /** Distance at which the target answered, or a router reported why it is unreachable. */
  endsAt: number | null;
  reachedAt: number | null;
  loop: string[] | null;
  gaveUp: boolean;
  /** The slowest answer so far, in milliseconds. */
  slowestMs: number;
  knowsTarget: boolean;
};

/**
 * Traces the route to a target. It first asks the target itself, to learn how long to wait for a silent hop. Then each
 * round sends one probe for each hop. All of them are one flow: routers that spread their load send all of them along
 * one route. Returns what it has when the signal fires. Rejects with ProbeRefused.
 */
export async function traceRoute(
  prober: Pick<Prober, 'round'>,
  target: { address: string; family: IpFamily },
  { limits, signal }: { limits: TraceLimits; signal: AbortSignal },
): Promise<Trace> {
  const state: State = {
    target,
    limits,
    hops: [],
    endsAt: null,
    reachedAt: null,
    loop: null,
    gaveUp: false,
    slowestMs: 0,
    knowsTarget: false,
  };
  try {
    const direct = { from: enoughHops, to: enoughHops, waitMs: longestWaitMs, maxSilent: 0 };
    await prober.round(direct, signal, (_ttl, answer) => {
      if (answer !== null) state.slowestMs = answer.rttMs;
      state.knowsTarget = answer !== null;
    });
    for (let round = 0; round < limits.queries; round++) {
      if (round > 0) await pause(round < roundsAtOnce ? roundPauseMs : slowRoundMs, signal);
      await probeOnce(prober, state, { isFirst: round === 0, signal });
      // Circles and limits are certain after one round, and more probes only burden the routers.
      if (state.loop !== null) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return traceOf(state, signal.aborted);
}

/** One probe for each hop. */
async function probeOnce(
  prober: Pick<Prober, 'round'>,
  state: State,
  { isFirst, signal }: { isFirst: boolean; signal: AbortSignal },
): Promise<void> {
  const { hops, limits, target } = state;
  const lastOfRound = Math.min(limits.maxHops, lastAnswered(hops) + silentHops);
  let silent = 0;
  let isOver = false;
  const round = {
    from: 1,
    to: state.endsAt ?? (isFirst ? limits.maxHops : lastOfRound),
    waitMs: Math.ceil(waitFor(state)),
    maxSilent: isFirst ? limits.maxUnknownHops : 0,
  };
  await prober.round(round, signal, (ttl, answer) => {
    // Probes beyond the end carry no information.
    if (isOver) return;
    const hop = (hops[ttl - 1] ??= newHop());
    hop.sent += 1;
    if (answer === null) {
      silent += 1;
      state.gaveUp ||= isFirst && silent >= limits.maxUnknownHops;
      return;
    }
    silent = 0;
    const { isTarget, isEnd } = noteAnswer(hop, answer, target);
    state.slowestMs = Math.max(state.slowestMs, answer.rttMs);
    if (isTarget) state.reachedAt = Math.min(state.reachedAt ?? ttl, ttl);
    if (isEnd) state.endsAt = Math.min(state.endsAt ?? ttl, ttl);
    else if (isFirst) state.loop = loopIn(hops);
    isOver = isEnd || state.loop !== null;
  });
}

/** How long to wait for the answer of a hop: routers answer about as fast as the target, or a little slower. */
function waitFor({ slowestMs, knowsTarget }: State): number {
  const shortest = knowsTarget ? shortestWaitMs : blindWaitMs;
  return Math.min(longestWaitMs, Math.max(shortest, 3 * slowestMs + 100));
}

function lastAnswered(hops: readonly HopState[]): number {
  return hops.findLastIndex(({ times }) => times.length > 0) + 1;
}

function traceOf(state: State, timedOut: boolean): Trace {
  const { hops, endsAt, reachedAt, loop, gaveUp } = state;
  const shown = endsAt === null ? hops : hops.slice(0, endsAt);
  const truncation = (): TruncationReason => {
    if (reachedAt !== null) return 'destinationReached';
    if (endsAt !== null) return 'unreachable';
    if (loop !== null) return 'loop';
    if (gaveUp) return 'maxUnknownHops';
    return timedOut ? 'timeout' : 'maxHops';
  };
  return {
    // A hop whose first probe was cut off by the time limit is not there yet.
    hops: shown.filter(({ sent }) => sent > 0).map((hop, index) => hopRow(index + 1, hop)),
    reached: reachedAt !== null,
    truncation: truncation(),
    loop,
    targetTimes: reachedAt === null ? [] : targetTimes(hops.slice(reachedAt - 1), state.target.address),
  };
}

/** The target's times. A probe that went further than needed also reached it. */
function targetTimes(hops: readonly HopState[], target: string): number[] {
  return hops.filter((hop) => addressOf(hop) === target).flatMap(({ times }) => times);
}

/** Resolves after some milliseconds; rejects with the signal's reason. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error); // the reasons of the agent are errors
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
