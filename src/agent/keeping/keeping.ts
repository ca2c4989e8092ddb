import { ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { keepingMinor, protocolLimits } from '../../protocol/agent-calls.ts';
import type { KeepingAnswer, SharedVariables } from '../../protocol/assignments.ts';
import type { AgentCondition } from '../../protocol/routes.ts';
import { backoffMs } from '../link/backoff.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';
import { createAskFirst } from './ask-first.ts';
import { repeatCalls } from './call-loop.ts';
import { callPace, maxRetryMs, retryPace } from './call-pace.ts';
import { createContact } from './contact.ts';
import { createHeldChecks } from './held-checks.ts';
import { createKeepingCalls } from './keeping-calls.ts';
import { createLedger, createTag, settledMoment } from './ledger.ts';
import { createMoments } from './moments.ts';
import { createSuccession } from './succession.ts';
import { createTimetable, type RunOptions } from './timetable.ts';

/**
 * The checks that this agent holds. One call that stays open renews them and brings their changes. The agent runs each
 * when it is due, also while the service is away, and states up to when it has reported every run.
 */
export type Keeping = {
  /** Takes over the checks of earlier processes on this data directory. Call it before the first hello. Never rejects. */
  restore: () => Promise<void>;
  start: () => void;
  /** What hello says: earlier agents and processes that this one continues. */
  offer: () => { continues: string[] };
  /** Called with each result that the service has taken. */
  settled: (payload: Buffer) => void;
  /** Called with each result that the outbox has dropped. */
  lost: (payload: Buffer) => void;
  /** Number of runs in progress. */
  size: () => number;
  /** Plans no more runs; those in progress finish their attempt. */
  drain: () => void;
  /** Aborts all runs; returns their number. */
  cancel: () => number;
  whenIdle: () => Promise<void>;
  /**
   * Gives the checks back, so that others run them at once. If the service is away, another process on the data directory
   * takes them over. Call it once no run is in progress. Never rejects.
   */
  leave: () => Promise<void>;
  /** Ends the loops. What is held stays in the data directory for the next process. */
  stop: () => Promise<void>;
};

/** Between two questions to a service that lets agents hold no checks, or of an agent that can make no runs. */
const offMs = 15_000;
/** A location that stops in outages: its agents stop this long after they last heard of the service. */
const stopMs = protocolLimits.leaseSeconds * 1000;

export function createKeeping(
  options: RunOptions & {
    client: ServiceClient;
    session: Session;
    log: Log;
    instanceId: string;
    /** The folder of all processes of this data directory. */
    folder: string;
    apiKey: string;
    /** How long the agent continues without the service, in milliseconds. */
    continueMs: number;
    condition: () => AgentCondition;
    /** When the oldest result came that waits to be sent, by this machine's clock; null = none waits. */
    waitingSince: () => number | null;
    random: () => number;
    /** See `createSuccession`. */
    adoptEveryMs?: number;
  },
): Keeping {
  const { client, session, log } = options;
  const stopped = new AbortController();
  const calls = createKeepingCalls(options);
  const held = createHeldChecks();
  const ledger = createLedger();
  const tag = createTag();
  const askFirst = createAskFirst();
  let cursor: string | null = null;
  let cursorOf: string | null = null;
  let savedAs: string | null = null;
  let allowedAt = -Infinity; // when a service last let this agent hold checks
  let stopsInOutages = false;
  let variables: SharedVariables | null = null;
  let running: Promise<void> = Promise.resolve();
  let leaving: Promise<void> | null = null;
  let isEnding = false;
  let isFailing = false;
  let adoptions = 0;
  const moments = createMoments(options);
  const reportedTo = (): number => {
    const waitingSince = options.waitingSince();
    const first = Math.min(held.earliest() ?? Infinity, timetable.unreported() ?? Infinity);
    const since = waitingSince === null ? null : waitingSince - moments.skewMs();
    return ledger.reportedTo(moments.now(), first, since);
  };

  /** Between two renewals the agent cannot know whether the service is away. */
  const limitMs = () => (stopsInOutages ? stopMs : Math.max(stopMs, options.continueMs));
  const contact = createContact({ now: moments.now, limitMs });
  const stopsSoon = () => limitMs() <= stopMs && contact.mayRun();
  client.onAnswer(contact.heard);

  const timetable = createTimetable({
    ...options,
    held,
    ledger,
    tag,
    now: moments.now,
    variables: () => variables?.list ?? [],
    mayRun: () => contact.mayRun() && !askFirst.isAsking(),
  });

  const succession = createSuccession({
    ...options,
    held,
    variables: () => variables,
    facts: () => ({
      // A process that continues this one reports again what the service may have left to another agent.
      reportedTo: Math.min(reportedTo(), held.unsureFrom() - 1),
      heardAt: contact.heardAt(),
      stopsInOutages,
      skewMs: moments.skewMs(),
      runs: timetable.keptRuns(),
    }),
    isKnown: () => session.clockSkewMs() !== null,
    isAway: () => !isEnding && (isFailing || session.clockSkewMs() === null) && contact.isLost(),
    take: (kept) => {
      if (contact.heardAt() === -Infinity) ({ stopsInOutages } = kept);
      if (contact.heardAt() < kept.heardAt) {
        moments.restore(kept);
        contact.restore(kept.heardAt);
      }
      variables ??= kept.variables;
      const others = kept.checks.filter(({ checkId }) => held.find(checkId, 0) === undefined);
      held.restore(others, kept.reportedTo);
      timetable.restore(kept.runs);
      // The service knows of none of them, so only a complete list says which are held by others.
      cursor = null;
      adoptions += 1;
      timetable.replan();
    },
    everyMs: options.adoptEveryMs,
  });

  const forgetAll = (): void => {
    cursor = null;
    variables = null;
    if (held.size() === 0) return;
    log.warn({ checks: held.size() }, 'the service lets agents hold no checks any more');
    held.clear();
    succession.changed();
  };

  /** While replicas are restarted, some let agents hold checks and others do not. The lease bridges that. */
  const refused = (): number => {
    if (moments.now() - allowedAt <= protocolLimits.leaseSeconds * 1000) return maxRetryMs;
    forgetAll();
    return offMs;
  };

  const take = async (answer: KeepingAnswer, hadStopped: boolean): Promise<void> => {
    // A replica of an earlier release says nothing about it.
    ({ stopsInOutages = stopsInOutages } = answer);
    // What is due by now is run in its old form; what comes later in its new one. After a pause the old form may be long out
    // of date, or another agent's.
    if (!hadStopped) timetable.runDue();
    const { readAssignments } = await import('./packed.ts');
    const { checks, invalid } = readAssignments(answer.checks);
    if (invalid > 0) options.fault(new Error(`${invalid} held checks are malformed`), 'held checks ignored');
    for (const { holder } of checks) succession.addHolder(holder);
    if (answer.variables !== undefined) ({ variables } = answer);
    held.apply(answer, checks);
    askFirst.heard(answer);
    // Replicas of an earlier release send checks with the variables in them, and know of no others: what one kind of replica
    // has sent is not kept up to date by the other.
    const isApart = answer.sharesVariables === true;
    const isMixed =
      !answer.hasMore && held.all().some(({ sharesVariables }) => (sharesVariables === true) !== isApart);
    cursor = isMixed ? null : answer.cursor;
    if (checks.length > 0 || answer.dropped.length > 0 || answer.isFirst || answer.variables !== undefined)
      succession.changed();
    timetable.replan();
    // The process that continues this one must know its name from the beginning.
    if (!answer.hasMore && savedAs !== cursorOf && held.size() > 0) {
      savedAs = cursorOf;
      void succession.save();
    }
  };

  /** This process can make no runs, so others get its checks until it can. */
  const standBack = async (agentId: string): Promise<number> => {
    if (held.size() > 0) {
      await calls.leave(agentId, { cursor, reportedTo: reportedTo() });
      log.warn({ checks: held.size() }, 'the held checks are given back, because no run can be made');
      held.clear();
      succession.changed();
    }
    cursor = null;
    return offMs;
  };

  /** One call; resolves with the milliseconds to wait before the next. `isRetry`: the last one has failed. */
  const renew = async (isRetry: boolean): Promise<number> => {
    const { agentId, protocolMinor: minor } = await session.get(stopped.signal);
    // A replica that lets agents hold none may have answered the hello, so its answer says nothing else.
    if (minor < keepingMinor) return refused();
    if (options.loading.isBroken()) return standBack(agentId);
    if (cursorOf !== agentId) {
      cursor = null;
      cursorOf = agentId;
    }
    succession.addHolder(agentId);
    const claimedTo = reportedTo();
    const adoptedBefore = adoptions;
    const answer = await calls.renew(agentId, {
      cursor,
      reportedTo: claimedTo,
      variables: variables?.tag ?? null,
      ...callPace({ isRetry, isListing: askFirst.isListing(), stopsSoon: limitMs() <= stopMs }),
      signal: stopped.signal,
    });
    isFailing = false;
    if (answer === null) return refused();
    allowedAt = moments.now();
    await take(answer, contact.renewed(!answer.hasMore));
    // The list that is due since then is not the rest of this answer.
    if (adoptions > adoptedBefore) cursor = null;
    if (!answer.hasMore) held.confirm(agentId, claimedTo);
    return 0;
  };

  const failed = (error: unknown, failures: number): number => {
    isFailing = true;
    if (held.size() > 0) {
      log.warn(
        { err: toError(error), checks: held.size() },
        `the held checks are not renewed; their runs ${stopsInOutages ? 'stop' : 'continue'}`,
      );
    }
    const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
    return retryPace(retryAfterMs, backoffMs(failures, options.random), stopsSoon());
  };

  const leave = async (): Promise<void> => {
    stopped.abort(new Error('the agent is stopping'));
    await running;
    const agentId = session.current()?.agentId;
    try {
      // Without checks, too: it would get those of an agent that dies meanwhile.
      if (agentId !== undefined && (held.size() > 0 || allowedAt > -Infinity)) {
        await calls.leave(agentId, { cursor, reportedTo: reportedTo() });
        held.clear();
      }
    } catch (error) {
      log.warn(
        { err: toError(error) },
        'the held checks were not given back; others get them after the lease',
      );
    }
    await succession.release();
  };

  return {
    restore: succession.restore,
    start: () => {
      if (held.size() > 0) askFirst.begin();
      timetable.start();
      running = repeatCalls({ call: renew, failed, stopped: stopped.signal });
      succession.start();
    },
    offer: () => ({ continues: succession.continues() }),
    settled: (payload) => {
      const moment = settledMoment(payload, tag);
      if (moment !== null) ledger.settle(moment);
    },
    lost: timetable.lost,
    size: timetable.size,
    drain: () => {
      isEnding = true;
      timetable.drain();
    },
    cancel: timetable.cancel,
    whenIdle: timetable.whenIdle,
    leave: () => (leaving ??= leave()),
    stop: async () => {
      // A call to the service would come too late.
      leaving ??= Promise.resolve();
      isEnding = true;
      stopped.abort(new Error('the agent is stopping'));
      timetable.stop();
      await running;
      await leaving;
      await succession.release();
    },
  };
}
