import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';

/**
 * Reads `traceroute` and `packetCapture` from result details, which agents write after a network failure.
 * Pure. Agents of other versions may write more or less, so nothing is assumed.
 */

const text = (value: unknown, max: number): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, max) : null;
const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

type Hop = { hop: number; address: string; error: string | null };

type Trace = {
  reached: boolean | null;
  /** Hops that answered, nearest first, and the number of hops that were probed. */
  answered: Hop[];
  asked: number;
};

function traceOf(details: Readonly<Fields>): Trace | null {
  const value = details['traceroute'];
  const hops = itemsOf(Array.isArray(value) ? value : fieldsOf(value)['hops']).map(fieldsOf);
  if (hops.length === 0) return null;
  const answered = hops.flatMap((hop, index): Hop[] => {
    const address = text(hop['address'] ?? hop['ip'] ?? hop['host'], 64);
    if (address === null) return [];
    return [{ hop: number(hop['hop']) ?? index + 1, address, error: text(hop['error'], 80) }];
  });
  const { reached } = fieldsOf(value);
  return { reached: typeof reached === 'boolean' ? reached : null, answered, asked: hops.length };
}

/** Returns sentences; none where the details have no such evidence. */
export function describeNetwork(details: Readonly<Fields>): string[] {
  const trace = traceOf(details);
  return [...(trace === null ? [] : [describeTrace(trace)]), ...describeCapture(details['packetCapture'])];
}

function describeTrace({ reached, answered, asked }: Trace): string {
  const last = answered.at(-1);
  if (last === undefined) return `None of the ${asked} hops to the target answered.`;
  const where = `hop ${last.hop} (${last.address})`;
  if (last.error !== null) return `On the path to the target, ${where} rejected the probes: ${last.error}.`;
  const silent = asked - last.hop;
  if (reached === true || (reached === null && silent <= 0)) {
    return `The traceroute to the target has ${last.hop} hops, ending at ${last.address}.`;
  }
  const beyond = silent <= 0 ? 'the target did not' : `none of the ${silent} beyond did`;
  return `On the path to the target, ${where} was the last hop that answered; ${beyond}.`;
}

function describeCapture(value: unknown): string[] {
  const { summary, packets, retransmissions, resets } = fieldsOf(value);
  const words = text(summary, 300);
  if (words !== null) return [`Captured packets: ${words.replace(/\.$/, '')}.`];
  const counts = Object.entries({ packets, retransmissions, resets }).flatMap(([name, count]) =>
    number(count) === null ? [] : [`${String(count)} ${name}`],
  );
  return counts.length === 0 ? [] : [`Captured packets: ${counts.join(', ')}.`];
}

/** Explains in one sentence where a connection attempt failed; null where the evidence does not show it. */
export function whereItBroke(details: Readonly<Fields>): string | null {
  const trace = traceOf(details);
  const last = trace?.answered.at(-1);
  if (last !== undefined && last.error !== null) {
    return `A router on the path (${last.address}) rejects the packets: ${last.error}. Examine its routes and filters.`;
  }
  const { syn, synAck, resets, dnsQueries, dnsAnswers } = fieldsOf(details['packetCapture']);
  const isOpenHost = trace?.reached === true;
  if (number(syn) !== null && Number(syn) > 0 && synAck === 0 && resets === 0) {
    return isOpenHost
      ? 'The host is reachable, but its port does not answer: a firewall drops the connection, or the host is overloaded.'
      : "The agent's connection attempt gets no answer: its packets are dropped on the path, or no host has this address.";
  }
  if (number(dnsQueries) !== null && Number(dnsQueries) > 0 && dnsAnswers === 0) {
    return 'The name servers do not answer the agent.';
  }
  if (isOpenHost) {
    return 'The path to the host is open: the port, or the program behind it, does not answer.';
  }
  if (trace?.reached === false && last !== undefined) {
    return `The path ends after ${last.address} (hop ${last.hop}). Examine the network there, or a firewall in front of the target.`;
  }
  return null;
}
