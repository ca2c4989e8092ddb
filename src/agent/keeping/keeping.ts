import { existsSync } from 'node:fs';
import { FatalError, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { keepingMinor, protocolLimits, protocolMinor } from '../../protocol/agent-calls.ts';
import type { KeepingAnswer, SharedVariables } from '../../protocol/assignments.ts';
import type { AgentCondition } from '../../protocol/routes.ts';
import type { RunningTools } from '../claiming/intake.ts';
import { answerBytes } from '../claiming/poller.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';
import type { Lanes } from '../run/lanes.ts';
import { createAskFirst } from './ask-first.ts';
import { callPace, maxRetryMs, retryPace } from './call-pace.ts';
import { createContact } from './contact.ts';
import { createHeldChecks } from './held-checks.ts';
import type { KeptFile } from './kept-file.ts';
import { createLedger, createTag, settledMoment } from './ledger.ts';
import { createSaving } from './saving.ts';
import { createTimetable } from './timetable.ts';

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
  /** Number of runs in progress. */
  size: () => number;
  /** Plans no more runs; those in progress finish their attempt. */
  drain: () => void;
  /** Aborts all runs; returns their number. */
  cancel: () => number;
  whenIdle: () => Promise<void>;
  /** Gives the checks back, so that others run them at once. Never rejects. */
  leave: () => Promise<void>;
  /** Ends the loops. What is held stays in the data directory for the next process. */
  stop: () => Promise<void>;
};

/** Between two questions to a service that lets agents hold no checks. */
const offMs = 15_000;
/** A location that stops in outages: its agents stop this long after they last heard of the service. */
const stopMs = protocolLimits.leaseSeconds * 1000;
const leaveMs = 3_000;

export function createKeeping(options: {
  client: ServiceClient;
  session: Session;
  log: Log;
  version: string;
  instanceId: string;
  /** The folder of all processes of this data directory. */
  folder: string;
  apiKey: string;
  /** How long the agent continues without the service, in milliseconds. */
  continueMs: number;
  lanes: Lanes;
  load: () => Promise<RunningTools>;
  available: () => Parameters<RunningTools['parseJob']>[1];
  deliver: (json: string, isCalm: boolean) => Promise<void>;
  condition: () => AgentCondition;
  /** True while the agent must not begin runs. */
  blocked: () => boolean;
  fault: (error: Error, message: string) => void;
  now: () => number;
  random: () => number;
}): Keeping {
  const { client, session, log, instanceId } = options;
  const stopped = new AbortController();
  const held = createHeldChecks();
  const ledger = createLedger();
  const tag = createTag();
  const holders = new Set<string>();
  const askFirst = createAskFirst();
  let continued: string[] = [];
  let cursor: string | null = null;
  let cursorOf: string | null = null;
  let savedAs: string | null = null;
  let allowedAt = -Infinity; // when a service last let this agent hold checks
  let stopsInOutages = false;
  let variables: SharedVariables | null = null;
  let running: Promise<void> = Promise.resolve();
  let file: KeptFile | null = null;

  /** The service's clock: it runs with this machine's monotonic one between two hellos. */
  const serviceNow = () => Math.floor(options.now() - (session.clockSkewMs() ?? 0));
  const reportedTo = () => ledger.reportedTo(serviceNow(), held.earliest());

  /** Between two renewals the agent cannot know whether the service is away. */
  const limitMs = () => (stopsInOutages ? stopMs : Math.max(stopMs, options.continueMs));
  const contact = createContact({ now: serviceNow, limitMs });
  const stopsSoon = () => limitMs() <= stopMs && contact.mayRun();
  client.onAnswer(contact.heard);

  const timetable = createTimetable({
    ...options,
    held,
    ledger,
    tag,
    now: serviceNow,
    variables: () => variables?.list ?? [],
    mayRun: () => contact.mayRun() && !askFirst.isAsking(),
  });

  const openFile = async (): Promise<KeptFile> => {
    const { createKeptFile } = await import('./kept-file.ts');
    const onError = (error: unknown) =>
      log.warn({ err: toError(error) }, 'the held checks cannot be kept in the data folder');
    return (file ??= createKeptFile({ root: options.folder, instanceId, apiKey: options.apiKey, onError }));
  };
  const facts = () => ({
    holders: [...holders],
    // A process that continues this one reports again what the service may have left to another agent.
    reportedTo: Math.min(reportedTo(), held.unsureFrom() - 1),
    heardAt: contact.heardAt(),
    stopsInOutages,
  });
  const saving = createSaving({
    file: openFile,
    kept: () => (held.size() === 0 && file === null ? null : { ...facts(), checks: held.all(), variables }),
    facts: () => (held.size() === 0 ? null : facts()),
  });

  const forgetAll = (): void => {
    cursor = null;
    variables = null;
    if (held.size() === 0) return;
    log.warn({ checks: held.size() }, 'the service lets agents hold no checks any more');
    held.clear();
    saving.changed();
  };

  /** While replicas are restarted, some let agents hold checks and others do not. The lease bridges that. */
  const refused = (): number => {
    if (serviceNow() - allowedAt <= protocolLimits.leaseSeconds * 1000) return maxRetryMs;
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
    for (const { holder } of checks) holders.add(holder);
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
      saving.changed();
    timetable.replan();
    // The process that continues this one must know its name from the beginning.
    if (!answer.hasMore && savedAs !== cursorOf && held.size() > 0) {
      savedAs = cursorOf;
      void saving.save();
    }
  };

  /** One call; resolves with the milliseconds to wait before the next. `isRetry`: the last one has failed. */
  const renew = async (isRetry: boolean): Promise<number> => {
    const { agentId, protocolMinor: minor } = await session.get(stopped.signal);
    // A replica that lets agents hold none may have answered the hello, so its answer says nothing else.
    if (minor < keepingMinor) return refused();
    if (cursorOf !== agentId) {
      cursor = null;
      cursorOf = agentId;
    }
    holders.add(agentId);
    const { waitSeconds, timeoutMs } = callPace({
      isRetry,
      isListing: askFirst.isListing(),
      stopsSoon: limitMs() <= stopMs,
    });
    const claimedTo = reportedTo();
    let answer;
    try {
      answer = await client.call(
        'claim',
        {
          agentId,
          free: {},
          waitSeconds,
          condition: options.condition(),
          keeping: {
            cursor,
            reportedTo: claimedTo,
            minor: protocolMinor,
            variables: variables?.tag ?? null,
          },
        },
        { timeoutMs, answerBytes, signal: stopped.signal },
      );
    } catch (error) {
      if (error instanceof ServiceError && !error.retryable) session.forget(agentId);
      throw error;
    }
    const keeping = answer?.keeping;
    // An earlier release answers without it: the service was set back.
    if (keeping === undefined || keeping.isOff === true) return refused();
    allowedAt = serviceNow();
    await take(keeping, contact.renewed());
    if (!keeping.hasMore) held.confirm(agentId, claimedTo);
    return 0;
  };

  const loop = async (): Promise<void> => {
    for (let failures = 0; !stopped.signal.aborted;) {
      try {
        const waitMs = await renew(failures > 0);
        failures = 0;
        await pause(waitMs, stopped.signal);
      } catch (error) {
        if (error instanceof FatalError || stopped.signal.aborted) return;
        failures += 1;
        const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
        const waitMs = retryPace(retryAfterMs, backoffMs(failures, options.random), stopsSoon());
        if (held.size() > 0) {
          log.warn(
            { err: toError(error), checks: held.size() },
            `the held checks are not renewed; their runs ${stopsInOutages ? 'stop' : 'continue'}`,
          );
        }
        await pause(waitMs, stopped.signal);
      }
    }
  };

  return {
    restore: async () => {
      if (!existsSync(options.folder)) return;
      const kept = await (await openFile()).adopt();
      if (kept === null) return;
      continued = [...kept.holders.slice(-8), ...kept.instances];
      for (const id of kept.holders) holders.add(id);
      if (kept.checks.length === 0) return;
      ({ stopsInOutages, variables } = kept);
      contact.restore(kept.heardAt);
      held.restore(kept.checks, kept.reportedTo);
      saving.changed();
      log.info({ checks: held.size() }, 'continues the checks of an earlier agent on this data folder');
    },
    start: () => {
      if (held.size() > 0) askFirst.begin();
      timetable.start();
      running = loop();
      saving.start();
    },
    offer: () => ({ continues: continued }),
    settled: (payload) => {
      const moment = settledMoment(payload, tag);
      if (moment !== null) ledger.settle(moment);
    },
    size: timetable.size,
    drain: timetable.drain,
    cancel: timetable.cancel,
    whenIdle: timetable.whenIdle,
    leave: async () => {
      stopped.abort(new Error('the agent is stopping'));
      await running;
      const agentId = session.current()?.agentId;
      if (agentId === undefined || held.size() === 0) return;
      try {
        const last = { cursor, reportedTo: reportedTo(), minor: protocolMinor, isLeaving: true };
        const body = { agentId, free: {}, waitSeconds: 0, keeping: last };
        await client.call('claim', body, { timeoutMs: leaveMs, answerBytes });
        held.clear();
      } catch (error) {
        log.warn(
          { err: toError(error) },
          'the held checks were not given back; others get them after the lease',
        );
      }
    },
    stop: async () => {
      stopped.abort(new Error('the agent is stopping'));
      saving.stop();
      timetable.stop();
      await running;
      await saving.save();
      await file?.close();
    },
  };
}
