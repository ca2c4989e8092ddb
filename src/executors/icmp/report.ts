import type { EchoReply } from '../interface/ping-socket.ts';
import { rounded } from '../../rounding.ts';

/** One finished ping: a reply, an ICMP error, an error of this host, or no answer. */
export type Ping = { reply: EchoReply | null; unsent: string | null };

/** The response of ICMP checks, for results and JSON_RESPONSE assertions. Times in milliseconds. */
export type IcmpResponse = {
  hostname: string;
  resolvedIp: string;
  ipFamily: 'IPv4' | 'IPv6';
  pingCount: number;
  packetsSent: number;
  packetsReceived: number;
  /** Bytes of one ICMP packet: header and payload. */
  packetSize: number;
  /** Percent, with two decimals. */
  packetLoss: number;
  dnsResolutionTime: number;
  /** Null if no ping was answered. */
  latency: { avg: number | null; min: number | null; max: number | null; stdDev: number | null };
  pingResults: {
    /** Counts from 0. */
    sequence: number;
    /** From the ICMP error that was received; null if there was none. */
    type: number | null;
    code: number | null;
    success: boolean;
    rtt: number | null;
    ttl: number | null;
  }[];
};

/** The ICMP header, RFC 792 and RFC 4443. */
export const icmpHeaderBytes = 8;

/** Milliseconds with three decimals, the resolution of the clock. */
export function isAnswered(ping: Ping): boolean {
  return ping.reply !== null && ping.reply.error === null;
}

/** Percent of `pings` that were not answered, exactly. */
export function lossPercent(pings: readonly Ping[]): number {
  return pings.length === 0 ? 0 : (pings.filter((ping) => !isAnswered(ping)).length / pings.length) * 100;
}

/** The facts about `pings`; a cancelled attempt has fewer than `pingCount`. */
export function icmpResponse(
  target: Pick<IcmpResponse, 'hostname' | 'resolvedIp' | 'ipFamily' | 'pingCount' | 'dnsResolutionTime'> & {
    payloadBytes: number;
  },
  pings: readonly Ping[],
): IcmpResponse {
  const received = pings.filter(isAnswered).length;
  return {
    hostname: target.hostname,
    resolvedIp: target.resolvedIp,
    ipFamily: target.ipFamily,
    pingCount: target.pingCount,
    packetsSent: pings.length,
    packetsReceived: received,
    packetSize: icmpHeaderBytes + target.payloadBytes,
    packetLoss: Number(lossPercent(pings).toFixed(2)),
    dnsResolutionTime: rounded(target.dnsResolutionTime, 3),
    latency: latencyOf(pings),
    pingResults: pings.map((ping, sequence) => ({
      sequence,
      type: ping.reply?.type ?? null,
      code: ping.reply?.code ?? null,
      success: isAnswered(ping),
      rtt: ping.reply === null ? null : rounded(ping.reply.rttMs, 3),
      ttl: ping.reply?.ttl ?? null,
    })),
  };
}

function latencyOf(pings: readonly Ping[]): IcmpResponse['latency'] {
  let count = 0;
  let sum = 0;
  let squares = 0;
  let min = Infinity;
  let max = -Infinity;
  for (const { reply } of pings) {
    if (reply === null || reply.error !== null) continue;
    count++;
    sum += reply.rttMs;
    squares += reply.rttMs ** 2;
    min = Math.min(min, reply.rttMs);
    max = Math.max(max, reply.rttMs);
  }
  if (count === 0) return { avg: null, min: null, max: null, stdDev: null };
  const avg = sum / count;
  const variance = Math.max(0, squares / count - avg ** 2); // rounding may take it below zero
  return {
    avg: rounded(avg, 3),
    min: rounded(min, 3),
    max: rounded(max, 3),
    stdDev: rounded(Math.sqrt(variance), 3),
  };
}

/** The response in the format of ping(8): one line per ping, then the statistics. */
export function icmpText(response: IcmpResponse, pings: readonly Ping[]): string {
  const { hostname, resolvedIp, packetSize, latency } = response;
  const lines = [`PING ${hostname} (${resolvedIp}): ${packetSize - icmpHeaderBytes} data bytes`];
  pings.forEach((ping, sequence) => lines.push(pingLine(ping, { sequence, resolvedIp })));
  lines.push('', `--- ${hostname} ping statistics ---`);
  lines.push(
    `${response.packetsSent} packets transmitted, ${response.packetsReceived} received, ${response.packetLoss}% packet loss`,
  );
  if (latency.avg !== null) {
    lines.push(`rtt min/avg/max/stddev = ${latency.min}/${latency.avg}/${latency.max}/${latency.stdDev} ms`);
  }
  return `${lines.join('\n')}\n`;
}

function pingLine({ reply, unsent }: Ping, at: { sequence: number; resolvedIp: string }): string {
  const sequence = `icmp_seq=${at.sequence}`;
  if (unsent !== null) return `not sent: ${sequence} ${unsent}`;
  if (reply === null) return `no answer: ${sequence}`;
  if (reply.error !== null) {
    const { code, from } = reply.error;
    return `from ${from ?? 'this host'}: ${sequence} ${code} (type ${reply.type} code ${reply.code})`;
  }
  const ttl = reply.ttl === null ? '' : ` ttl=${reply.ttl}`;
  const bytes = reply.size + icmpHeaderBytes;
  return `${bytes} bytes from ${at.resolvedIp}: ${sequence}${ttl} time=${rounded(reply.rttMs, 3)} ms`;
}
