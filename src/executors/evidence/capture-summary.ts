import { tcpFlags, type Packet } from './packets.ts';

/** The packets of a capture, counted. */
export type CaptureSummary = {
  packets: number;
  /** Packets that were dropped because the buffer was full. */
  lost: number;
  /** SYNs to the target, first and repeated ones, and the answers to them. */
  syn: number;
  synAck: number;
  /** Segments that were retransmitted by either side. */
  retransmissions: number;
  resets: number;
  icmpUnreachable: number;
  /** Other ICMP errors, such as a packet that was too large. */
  icmpErrors: number;
  dnsQueries: number;
  dnsAnswers: number;
  /** A summary in words. */
  summary: string;
};

export function summaryOf(packets: readonly Packet[], lost: number): CaptureSummary {
  const counts = {
    syn: 0,
    synAck: 0,
    retransmissions: 0,
    resets: 0,
    icmpUnreachable: 0,
    icmpErrors: 0,
    dnsQueries: 0,
    dnsAnswers: 0,
  };
  const seen = new Set<string>();
  for (const { facts } of packets) {
    if (facts.kind === 'udp') counts[facts.outgoing ? 'dnsQueries' : 'dnsAnswers'] += 1;
    else if (facts.kind === 'icmp') counts[facts.unreachable ? 'icmpUnreachable' : 'icmpErrors'] += 1;
    else {
      const { flags, flow, sequence, payload } = facts;
      if ((flags & tcpFlags.reset) !== 0) counts.resets += 1;
      const isSyn = (flags & tcpFlags.syn) !== 0;
      if (isSyn) counts[(flags & tcpFlags.ack) === 0 ? 'syn' : 'synAck'] += 1;
      if (!isSyn && payload === 0) continue;
      const segment = `${flow} ${sequence} ${isSyn}`;
      if (seen.has(segment)) counts.retransmissions += 1;
      seen.add(segment);
    }
  }
  return { packets: packets.length, lost, ...counts, summary: describe(packets.length, lost, counts) };
}

type Counts = Omit<CaptureSummary, 'packets' | 'lost' | 'summary'>;

function describe(packets: number, lost: number, counts: Counts): string {
  const { syn, synAck, retransmissions, resets, icmpUnreachable, icmpErrors, dnsQueries, dnsAnswers } =
    counts;
  if (packets === 0) return 'no packets of the attempt were sent or received';
  const some = (count: number, one: string, many = `${one}s`) =>
    count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  const parts = [
    ...some(dnsQueries, 'DNS query', 'DNS queries'),
    ...(dnsQueries > 0
      ? [`${dnsAnswers === 0 ? 'no' : dnsAnswers} DNS ${dnsAnswers === 1 ? 'answer' : 'answers'}`]
      : []),
    ...some(syn, 'SYN'),
    ...(syn > 0 ? [synAck === 0 ? 'none of them accepted' : `${synAck} accepted`] : []),
    ...some(retransmissions, 'retransmission'),
    ...some(resets, 'reset'),
    ...some(icmpUnreachable, 'ICMP unreachable message'),
    ...some(icmpErrors, 'other ICMP error'),
    ...(lost > 0 ? [`${lost} packets lost because the buffer was full`] : []),
  ];
  return `${packets} packets: ${parts.join(', ')}`;
}
