import type { TraceAnswer } from '../../../../src/executors/evidence/trace-answers.ts';
import { reasonOfTrace } from '../../../../src/executors/traceroute/judge.ts';
import type { OnHop, Round } from '../../../../src/executors/traceroute/round.ts';
import { assertionsOf, finalLatency } from '../../../../src/executors/traceroute/response.ts';
import { traceRoute } from '../../../../src/executors/traceroute/trace.ts';

/** Answers to the probes of a trace: any host may send any of them. The trace ends, and its figures stay in range. */

export const name = 'trace-answers';

const target = { address: '192.0.2.9', family: 4 as const };
const limits = { maxHops: 20, maxUnknownHops: 6, queries: 1 };

/** Each answer takes five bytes: what it is, type, code, sender, time. */
function answerFrom(data: Buffer, at: number): TraceAnswer | null {
  const [kind = 0, type = 0, code = 0, sender = 0, time = 0] = data.subarray(at, at + 5);
  if (kind % 4 === 0) return null;
  const from =
    ['', target.address, `10.0.0.${sender}`, `fe80::${sender.toString(16)}%eth0`][sender % 4] ?? '';
  const rttMs = time === 255 ? 1e9 : time / 10;
  return kind % 4 === 1
    ? { icmp: null, from, rttMs }
    : { icmp: { type: kind % 4 === 2 ? 11 : type, code }, from, rttMs };
}

/** Throws if a trace of such answers breaks its limits or contradicts itself. */
export async function run(data: Buffer): Promise<void> {
  let probes = 0;
  const prober = {
    round: ({ from, to }: Round, _signal: AbortSignal, onHop: OnHop) => {
      for (let ttl = from; ttl <= to; ttl++) onHop(ttl, answerFrom(data, 5 * probes++));
      return Promise.resolve();
    },
  };
  const trace = await traceRoute(prober, target, { limits, signal: new AbortController().signal });
  if (probes > 1 + limits.maxHops) throw new Error(`${probes} probes`);
  if (trace.hops.length > limits.maxHops) throw new Error(`${trace.hops.length} hops`);
  if (trace.reached !== (trace.truncation === 'destinationReached')) throw new Error(trace.truncation);
  for (const { lossPercent, hop } of trace.hops) {
    if (!(lossPercent >= 0 && lossPercent <= 100)) throw new Error(`loss of ${lossPercent}% at ${hop}`);
  }
  const reason = reasonOfTrace(trace, 'target', 10);
  if ((reason === null) !== trace.reached) throw new Error('a reason that contradicts the trace');
  if (reason !== null && reason.message.length > 1000) throw new Error('a long reason');
  const latency = finalLatency(trace);
  if (trace.reached !== (latency.avg !== null)) throw new Error('times that contradict the trace');
  const sources = ['HOP_COUNT', 'PACKET_LOSS', 'HOP', 'RESPONSE_TIME'] as const;
  assertionsOf(
    sources.map((source) => ({ source, property: '', comparison: 'CONTAINS', target: '1', regex: null })),
    { hops: trace.hops, latency, response: trace },
  );
}

const tooFar = (sender: number) => [2, 0, 0, sender, 10];
export const seeds = (): Buffer[] => [
  Buffer.from([1, 0, 0, 0, 9, ...tooFar(2), ...tooFar(6), 0, 0, 0, 0, 0, 1, 0, 0, 0, 9]),
  Buffer.from([0, 0, 0, 0, 0, ...[2, 6, 2, 6, 2, 6].flatMap(tooFar)]),
  Buffer.from([0, 0, 0, 0, 0, ...tooFar(2), 3, 3, 1, 6, 5]),
  Buffer.from([0, 0, 0, 0, 0, 3, 3, 3, 1, 255]),
];

export const dictionary = [Buffer.from([3, 3, 1]), Buffer.from([3, 3, 13]), Buffer.from(tooFar(2))];
