import type { Network } from '../../executors/interface/network.ts';
import type { Job } from '../../protocol/job.ts';
import type { Reason } from '../../protocol/reasons.ts';
import {
  answeredBy,
  nameServerStep,
  watchNetwork,
  type LastStep,
  type WatchedNetwork,
} from './attempt-target.ts';
import { judgeByAnswers } from './compare.ts';
import { failureOf } from './failed-step.ts';
import type { ExaminationOptions } from './examination.ts';
import { createExaminations, healthKeptMs, troubleKeptMs } from './examinations.ts';
import type { Cause, Evidence, Failure, LocalFacts, Probes, Verdict } from './facts.ts';
import { scriptSuspicion, suspicionOf } from './failures.ts';
import { isAsGood, kernelRouteTo, readHost, type HostState } from './host.ts';
import { createMemory } from './memory.ts';
import { askedAgain, resolvedMeanwhile } from './names.ts';
import { isOwnAddress, judgeLocally, ours, pathKey, pathTo, targets, unproven } from './rules.ts';
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

/** The longest that a result waits for its verdict, in milliseconds: two examinations, if the first came too late. */
export const verdictMs = 4000;
const localKeptMs = 200;
/** An attempt that had a working network for this time has not failed because of it. */
const enoughMs = 3000;
const maxProxies = 4;
const maxEvidence = 24;

export function createOwnNetwork(
  options: Omit<OwnNetworkOptions, 'memory'>,
): OwnNetwork & { ready: Promise<void> } {
  const { now } = options;
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

  /** Whatever answers an examination ends the trouble of its route, as the answer of a check does. */
  const noteAnswers = ({ at, endpoints, resolver }: Probes): void => {
    if (troubles.isEmpty()) return;
    if (resolver.names.some(({ resolves }) => resolves)) troubles.over('resolver', at);
    for (const { role, address, port, answers } of endpoints) {
      if (!answers || role === 'gateway') continue;
      troubles.over(role === 'proxy' ? proxyKey(address, port) : keyOf(address, baseline), at);
    }
  };

  const examinations = createExaminations({
    ...options,
    memory,
    proxies: () => [...proxies.values()],
    onAnswers: noteAnswers,
  });

  /** Answers of an earlier examination that still decide; null = ask again. */
  const known = (failure: Failure, facts: LocalFacts): Verdict | null => {
    const latest = examinations.latest();
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
    const verdict = judgeLocally(failure, facts) ?? answeredMeanwhile(failure, host);
    if (verdict !== null) return verdict;
    const judged = known(failure, facts) ?? (await examined(failure, facts));
    return (await askedAgain(failure, judged, { network: options.network, memory })) ?? judged;
  };

  const examined = async (failure: Failure, facts: LocalFacts): Promise<Verdict> => {
    const judgeNow = async (at: Pick<Failure, 'endedAt'>): Promise<Verdict> => {
      const probes = await examinations.of(at);
      if (probes === null) return unproven('the host was examined too often in this minute');
      const judged = judgeByAnswers(failure, { ...facts, host: probes.host }, probes);
      if (judged.owner === 'target' && isAsGood(probes.host, baseline)) baseline = probes.host;
      return judged;
    };
    const first = await judgeNow(failure);
    // This process may have been too late to hear the answers: once more.
    return first.isUnproven === true ? judgeNow({ endedAt: now() + healthKeptMs }) : first;
  };

  /** Something else answered over the same route while the attempt failed, so nobody needs to be asked. */
  const answeredMeanwhile = (failure: Failure, host: HostState): Verdict | null => {
    const { step, address, startedAt, endedAt, viaProxy } = failure;
    const since = Math.max(startedAt, endedAt - healthKeptMs);
    if (step === 'name') return resolvedMeanwhile(failure, memory);
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
      if (verdict.isOver === true) return;
      troubles.seen(keyOfFailure(failure), { cause: verdict.cause, summary: verdict.summary, at: now() });
    } else if (step === 'name' && hostname !== null) memory.forgetName(hostname);
    else if (address !== null && !viaProxy) memory.forget(address);
  };

  const keyOfFailure = ({ step, address, port, viaProxy }: Failure): string => {
    if (step === 'name') return 'resolver';
    if (address === null) return 'unknown';
    return viaProxy ? proxyKey(address, port) : keyOf(address, baseline);
  };

  const noteAnswer = (
    last: LastStep,
    details: FinishedAttempt['details'],
    names: WatchedNetwork['resolved'],
  ): void => {
    for (const { name, at } of names) memory.resolved(name, at);
    const [first] = names;
    if (first !== undefined && !troubles.isEmpty()) troubles.over('resolver', first.at);
    if (nameServerStep(details)?.usesSystem === true) memory.resolverAnswered();
    const answered = answeredBy(last, details, now());
    if (answered === null || answered.address.startsWith('127.') || answered.address === '::1') return;
    memory.answered(answered);
    if (troubles.isEmpty()) return;
    troubles.over(keyOf(answered.address, baseline), answered.at);
    troubles.over(proxyKey(answered.address, answered.port), answered.at);
    troubles.over('unknown', answered.at);
  };

  const conclude = async (
    failure: Failure,
    how: 'examine' | 'compare',
    limitMs: number,
  ): Promise<Finding | null> => {
    const key = keyOfFailure(failure);
    const overlapNow = () => troubles.during(key, failure);
    const before = overlapNow();
    if (how === 'compare') return before === null ? null : findingOf(overlapping(before));
    const verdict = await withinLimit(judge(failure), Math.min(limitMs, verdictMs));
    // Meanwhile another failure may have found the trouble. What lasts explains what could not be found out.
    const lasting = verdict.isUnproven === true ? troubles.lasting(key, failure.startedAt) : null;
    const overlap = before ?? overlapNow() ?? lasting;
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
      const watched = watchNetwork(base, now);
      return {
        network: watched.network,
        conclude: ({ reason, details, startedAt, stoppedAt, limitMs }) => {
          const last = watched.last();
          if (reason === null) {
            noteAnswer(last, details, watched.resolved);
            return null;
          }
          for (const { name, at } of watched.resolved) memory.resolved(name, at);
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

/** Proxies have trouble of their own: other targets may answer over the same route. */
function proxyKey(address: string, port: number | null): string {
  return `proxy ${address} ${port}`;
}

function findingOf({ owner, cause, summary, evidence }: Verdict): Finding {
  return { isOurs: owner === 'ours', cause, summary, evidence: evidence.slice(0, maxEvidence) };
}

/** The verdict, or one that leaves the fault with the target if it is not known in time. Never rejects. */
async function withinLimit(verdict: Promise<Verdict>, limitMs: number): Promise<Verdict> {
  const known = verdict.catch(() => unproven('this host could not be examined'));
  const late = unproven('the examination of this host did not end in time');
  return (await within(known, Math.max(0, limitMs))) ?? late;
}
