import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';

/**
 * What details of results say of the way to the target: `traceroute` and `packetCapture`, as agents write them where the network
 * failed a check. Pure, and careful: agents of other versions may write more, or less.
 */

const text = (value: unknown, most: number): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, most) : null;
const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

type Hop = { hop: number; address: string; error: string | null };

type Trace = {
  reached: boolean | null;
  /** Those that answered, nearest first; and how many were asked. */
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

/** Sentences; none where the details have no such evidence. */
export function describeNetwork(details: Readonly<Fields>): string[] {
  const trace = traceOf(details);
  return [...(trace === null ? [] : [describeTrace(trace)]), ...describeCapture(details['packetCapture'])];
}

function describeTrace({ reached, answered, asked }: Trace): string {
  const last = answered.at(-1);
  if (last === undefined) return `None of ${asked} hops on the way to the target answered.`;
  const where = `hop ${last.hop} (${last.address})`;
  if (last.error !== null) return `On the way to the target ${where} turned the probes back: ${last.error}.`;
  const silent = asked - last.hop;
  if (reached === true || (reached === null && silent <= 0)) {
    return `The way to the target was traced over ${last.hop} hops, to ${last.address}.`;
  }
  const beyond = silent <= 0 ? 'the target did not' : `none of the ${silent} beyond did`;
  return `On the way to the target ${where} was the last that answered; ${beyond}.`;
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

/** Where a connection that was not made broke off, as a sentence; null where the evidence does not tell. */
export function whereItBroke(details: Readonly<Fields>): string | null {
  const trace = traceOf(details);
  const last = trace?.answered.at(-1);
  if (last !== undefined && last.error !== null) {
    return `A router on the way (${last.address}) turns the packets back: ${last.error}. Look at its routes and filters.`;
  }
  const { syn, synAck, resets, dnsQueries, dnsAnswers } = fieldsOf(details['packetCapture']);
  const isOpenHost = trace?.reached === true;
  if (number(syn) !== null && Number(syn) > 0 && synAck === 0 && resets === 0) {
    return isOpenHost
      ? 'The host is reached, but its port does not answer: a firewall drops the connection, or the host is overloaded.'
      : 'What the agent sends to open the connection is not answered at all: it is dropped on the way, or nothing is at the address.';
  }
  if (number(dnsQueries) !== null && Number(dnsQueries) > 0 && dnsAnswers === 0) {
    return 'The name servers do not answer the agent.';
  }
  if (isOpenHost) {
    return 'The way to the host is open: it is the port or the program behind it that does not answer.';
  }
  if (trace?.reached === false && last !== undefined) {
    return `The way ends behind ${last.address} (hop ${last.hop}): look at the network there, or at a firewall before the target.`;
  }
  return null;
}
