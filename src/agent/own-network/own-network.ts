import type { Network } from '../../executors/interface/network.ts';
import type { Job } from '../../protocol/job.ts';
import type { Reason } from '../../protocol/reasons.ts';
import { answeredBy, nameServerStep, watchNetwork, type LastStep } from './attempt-target.ts';
import { judgeByAnswers } from './compare.ts';
import { failureOf } from './failed-step.ts';
import { examine, type ExaminationOptions } from './examination.ts';
import type { Cause, Evidence, Failure, LocalFacts, Probes, Verdict } from './facts.ts';
import { scriptSuspicion, suspicionOf } from './failures.ts';
import { kernelRouteTo, readHost, type HostState } from './host.ts';
import { createMemory } from './memory.ts';
import { isOwnAddress, judgeLocally, ours, pathKey, pathTo, targets } from './rules.ts';
import { createTroubles, type Trouble } from './troubles.ts';
import { within } from '../../time-limit.ts';

/**
 * Decides whether a network failure is the target's or this host's own. It looks at the host only when an attempt has
 * failed; one examination serves all failures of the same moment.
 */
export type OwnNetwork = {
  /** Watches one attempt. It costs a passing attempt no system call. */
  watch: (job: Job, network: Network) => OwnNetworkWatch;
  /** The trouble that lasts now; null = none is known. */
  trouble: () => Trouble | null;
};

export type OwnNetworkWatch = {
  network: Network;
  /** Null if nothing needs to be examined. Otherwise a promise that never rejects. */
  conclude: (attempt: FinishedAttempt) => Promise<Finding | null> | null;
};

/** `reason`: why the attempt failed before shouldFail inverted it; null = it did not. Times: epoch, milliseconds. */
export type FinishedAttempt = {
  reason: Reason | null;
  details: Readonly<Record<string, unknown>>;
  startedAt: number;
  stoppedAt: number;
  /** Time that the examination may take, in milliseconds. */
  limitMs: number;
};

/** The outcome of an examination, for the result. */
export type Finding = {
  isOurs: boolean;
  cause: Cause | null;
  summary: string;
  evidence: readonly Evidence[];
};

export type OwnNetworkOptions = ExaminationOptions & {
  /** Called once per examination that asks others. */
  onExamination: () => void;
};

/** The longest that a result waits for its verdict, in milliseconds. */
export const verdictMs = 2000;
const localKeptMs = 200;
/** Answers that prove trouble count for this time. */
const troubleKeptMs = 5000;
/** Answers that prove a working network must be about as new as the failure. */
const healthKeptMs = 1000;
/** An attempt that had a working network for this time has not failed because of it. */
const enoughMs = 3000;
const perMinute = 30;
const maxProxies = 4;
const maxEvidence = 24;

export function createOwnNetwork(
  options: Omit<OwnNetworkOptions, 'memory'>,
): OwnNetwork & { ready: Promise<void> } {
  const { now, onExamination } = options;
  const memory = createMemory();
  const troubles = createTroubles();
  const proxies = new Map<string, { address: string; port: number }>();
  /** The last state of the host that is known to be good. It is read once at the start, then after failures only. */
  let baseline: HostState | null = null;
  const ready = readHost().then((host) => void (baseline ??= host));

  const keyOf = (address: string, host: HostState | null): string => {
    const path = host === null ? null : pathTo(host, address);
    return path === null ? `none ${address.includes(':') ? 6 : 4}` : pathKey(path);
  };

  let local: { at: number; host: Promise<HostState> } | null = null;
  const readLocal = (): Promise<HostState> => {
    if (local === null || now() - local.at > localKeptMs) local = { at: now(), host: readHost() };
    return local.host;
  };

  // One examination at a time, for everyone who needs its answers.
  let running: { startedAt: number; probes: Promise<Probes> } | null = null;
  let latest: Probes | null = null;
  let minute = { from: 0, count: 0 };
  const probesFor = async ({ endedAt }: Failure): Promise<Probes | null> => {
    if (running !== null && running.startedAt >= endedAt - healthKeptMs) return running.probes;
    await running?.probes;
    // Another waiter may have started one meanwhile.
    if (running !== null) return running.probes;
    if (now() - minute.from > 60_000) minute = { from: now(), count: 0 };
    // Old answers do not say how the network was during this failure.
    if (minute.count >= perMinute)
      return latest !== null && now() - latest.at <= troubleKeptMs ? latest : null;
    minute.count += 1;
    onExamination();
    const probes = examine([...proxies.values()], { ...options, memory }).then((done) => {
      if (!done.wasDelayed) latest = done;
      return done;
    });
    running = { startedAt: now(), probes };
    void probes.finally(() => (running = null));
    return probes;
  };

  /** Answers of an earlier examination that still decide; null = ask again. */
  const known = (failure: Failure, facts: LocalFacts): Verdict | null => {
    if (latest === null) return null;
    const { startedAt, endedAt } = failure;
    const age = endedAt - latest.at;
    if (age > troubleKeptMs) return null;
    const verdict = judgeByAnswers(failure, facts, latest);
    if (verdict.owner === 'ours' || age <= healthKeptMs) return verdict;
    return latest.at - startedAt >= enoughMs ? verdict : null;
  };

  const judge = async (failure: Failure): Promise<Verdict> => {
    await ready;
    const host = await readLocal();
    const { address } = failure;
    const kernel = address === null ? null : await kernelRouteTo(address);
    const facts: LocalFacts = {
      host,
      baseline,
      kernel,
      usedFamilies: memory.families,
      resolverHasWorked: memory.resolverHasWorked(),
    };
    const verdict = judgeLocally(failure, facts) ?? answeredMeanwhile(failure, host) ?? known(failure, facts);
    if (verdict !== null) return verdict;
    const probes = await probesFor(failure);
    if (probes === null) return targets('the host was examined too often in this minute', []);
    const judged = judgeByAnswers(failure, { ...facts, host: probes.host }, probes);
    if (judged.owner === 'target' && isAsGood(probes.host, baseline)) baseline = probes.host;
    return judged;
  };

  /** Something else answered over the same route while the attempt failed, so nobody needs to be asked. */
  const answeredMeanwhile = (failure: Failure, host: HostState): Verdict | null => {
    const { step, address, hostname, startedAt, endedAt, viaProxy, lostName } = failure;
    const since = Math.max(startedAt, endedAt - healthKeptMs);
    if (step === 'name' && !lostName) {
      const other = memory.namesSince(since).find(({ name }) => name !== hostname);
      return other === undefined
        ? null
        : targets('the resolver works', [{ looked: `name ${other.name}`, found: 'resolved meanwhile' }]);
    }
    if (step !== 'connection' || address === null) return null;
    const key = keyOf(address, host);
    const other = memory
      .endpointsSince(since)
      .find((each) =>
        viaProxy
          ? each.address === address && each.port === failure.port
          : each.address !== address &&
            !isOwnAddress(host, each.address) &&
            keyOf(each.address, host) === key,
      );
    return other === undefined
      ? null
      : targets('something else answers over the same route', [
          { looked: other.address, found: 'answered meanwhile' },
        ]);
  };

  const remember = (failure: Failure, verdict: Verdict): void => {
    const { step, address, hostname, viaProxy } = failure;
    if (verdict.owner === 'ours' && verdict.cause !== null) {
      troubles.seen(keyOfFailure(failure), { cause: verdict.cause, summary: verdict.summary, at: now() });
    } else if (step === 'name' && hostname !== null) memory.forgetName(hostname);
    else if (address !== null && !viaProxy) memory.forget(address);
  };

  const keyOfFailure = ({ step, address }: Failure): string =>
    step === 'name' ? 'resolver' : address === null ? 'unknown' : keyOf(address, baseline);

  const noteAnswer = (
    last: LastStep,
    details: FinishedAttempt['details'],
    names: readonly string[],
  ): void => {
    for (const name of names) memory.resolved(name, now());
    if (names.length > 0 && !troubles.isEmpty()) troubles.over('resolver');
    if (nameServerStep(details)?.usesSystem === true) memory.resolverAnswered();
    const answered = answeredBy(last, details, now());
    if (answered === null || answered.address.startsWith('127.') || answered.address === '::1') return;
    memory.answered(answered);
    if (troubles.isEmpty()) return;
    troubles.over(keyOf(answered.address, baseline));
    troubles.over('unknown');
  };

  const conclude = async (
    failure: Failure,
    how: 'examine' | 'compare',
    limitMs: number,
  ): Promise<Finding | null> => {
    const overlapNow = () => troubles.during(keyOfFailure(failure), failure);
    const before = overlapNow();
    if (how === 'compare') return before === null ? null : findingOf(overlapping(before));
    const verdict = await withinLimit(judge(failure), Math.min(limitMs, verdictMs));
    // Meanwhile another failure may have found the trouble.
    const overlap = before ?? overlapNow();
    remember(failure, verdict);
    if (verdict.owner === 'target' && overlap !== null) return findingOf(overlapping(overlap));
    // Targets on this host itself need no evidence.
    return verdict.owner === 'target' &&
      verdict.evidence.some(({ found }) => found === 'it belongs to this host')
      ? null
      : findingOf(verdict);
  };

  return {
    ready,
    trouble: () => (troubles.isEmpty() ? null : troubles.current(now())),
    watch: (job, base) => {
      const watched = watchNetwork(base);
      return {
        network: watched.network,
        conclude: ({ reason, details, startedAt, stoppedAt, limitMs }) => {
          const last = watched.last();
          if (reason === null) {
            noteAnswer(last, details, watched.resolved);
            return null;
          }
          for (const name of watched.resolved) memory.resolved(name, now());
          const times = { startedAt, endedAt: stoppedAt };
          const inScript = scriptSuspicion(reason, details);
          if (inScript !== null) {
            const failure = { ...inScript, ...times, port: null, viaProxy: false, lostName: false };
            return conclude(failure, 'examine', limitMs);
          }
          const hostname = last !== null && 'hostname' in last ? last.hostname : null;
          const isNameKnown = hostname !== null && memory.knows(hostname);
          // The name servers say that the name does not exist.
          if (hostname !== null && reason.code === 'ENOTFOUND') memory.resolverAnswered();
          const how = suspicionOf(reason, isNameKnown);
          if (how === null) {
            noteAnswer(last, details, []);
            return null;
          }
          const failure = failureOf(job, { last, details, reason, ...times });
          if (failure === null) return null;
          const { address, port } = failure;
          if (failure.viaProxy && address !== null && port !== null) {
            proxies.set(`${address} ${port}`, { address, port });
            const [oldest] = proxies.keys();
            if (proxies.size > maxProxies && oldest !== undefined) proxies.delete(oldest);
          }
          return conclude(failure, how, limitMs);
        },
      };
    },
  };
}

function overlapping({ cause, summary, since, seenAt }: Trouble): Verdict {
  const found = `from ${new Date(since).toISOString()} to ${new Date(seenAt).toISOString()} or later`;
  return ours(cause, `during the attempt, ${summary}`, [{ looked: 'earlier examinations', found }]);
}

function findingOf({ owner, cause, summary, evidence }: Verdict): Finding {
  return { isOurs: owner === 'ours', cause, summary, evidence: evidence.slice(0, maxEvidence) };
}

/** Whether everything that worked at the last good moment still does. */
function isAsGood(host: HostState, baseline: HostState | null): boolean {
  if (baseline === null) return true;
  return baseline.routes.every(
    (before) =>
      before.rejects ||
      host.routes.some(
        (route) =>
          route.interface === before.interface &&
          route.prefix === before.prefix &&
          route.destination.equals(before.destination),
      ),
  );
}

/** The verdict, or one that leaves the fault with the target if it is not known in time. Never rejects. */
async function withinLimit(verdict: Promise<Verdict>, limitMs: number): Promise<Verdict> {
  const known = verdict.catch(() => targets('this host could not be examined', []));
  const late = targets('the examination of this host did not end in time', []);
  return (await within(known, Math.max(0, limitMs))) ?? late;
}
