import { isFields, type Fields } from '../../json-values.ts';
import { printableLine } from '../terminal-text.ts';

/** Formats the figures of a TRACEROUTE check for a terminal; report-network.ts prints its hops. */

/** Lines of the target and of the networks on the route; empty for results of other types. */
export function tracerouteLines(details: Fields): string[] {
  const { truncationReason, totalHops, finalHopLatency, packetLoss, traceroute } = details;
  if (typeof totalHops !== 'number' || !isFields(finalHopLatency)) return [];
  const lines: [string, string][] = [];
  const { avg, min, max } = finalHopLatency;
  if (typeof avg === 'number') {
    lines.push([
      'target',
      `avg ${avg} ms, min ${Number(min)} ms, max ${Number(max)} ms, loss ${Number(packetLoss)} %`,
    ]);
  } else if (typeof truncationReason === 'string') {
    lines.push(['target', `not reached after ${totalHops} hops (${truncationReason})`]);
  }
  const networks = networksOn(traceroute);
  if (networks !== '') lines.push(['networks', networks]);
  return lines.map(([name, text]) => `${name.padEnd(12)}  ${text}`);
}

/** The AS numbers on the route, in order. */
function networksOn(traceroute: unknown): string {
  const hops: unknown[] = isFields(traceroute) && Array.isArray(traceroute['hops']) ? traceroute['hops'] : [];
  const names = new Set<string>();
  for (const hop of hops) {
    if (!isFields(hop) || typeof hop['asn'] !== 'number') continue;
    const { asn, asOrganization } = hop;
    const owner = typeof asOrganization === 'string' ? ` ${printableLine(asOrganization, 60)}` : '';
    names.add(`AS${asn}${owner}`);
  }
  return [...names].join(' → ');
}
