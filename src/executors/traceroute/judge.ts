import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { Hop } from '../evidence/trace-hops.ts';
import type { Trace } from './trace.ts';

/** Why the target was not reached; null if it was. `where`: the target, as a person names it. */
export function reasonOfTrace(trace: Trace, where: string, timeoutSeconds: number): Reason | null {
  const { reached, truncation, hops, loop } = trace;
  if (reached) return null;
  const last = hops.findLast(({ address }) => address !== null);
  const until = last === undefined ? 'no hop answered' : `the last hop that answered is ${hopText(last)}`;
  if (truncation === 'loop') {
    const circle = [...(loop ?? []), loop?.[0] ?? ''].join(' → ');
    return reasonOf('ROUTE_LOOP', `the route to ${where} runs in a circle: ${circle}`);
  }
  if (truncation === 'unreachable') {
    const code = last?.error?.includes('prohibited') === true ? 'EACCES' : 'EHOSTUNREACH';
    return reasonOf(code, `${where} was not reached: ${hopText(last)} reported ${last?.error ?? 'an error'}`);
  }
  if (truncation === 'timeout') {
    return reasonOf('TIMEOUT', `${where} was not reached within ${timeoutSeconds} s: ${until}`);
  }
  const why =
    truncation === 'maxUnknownHops'
      ? `${hops.length - (last?.hop ?? 0)} hops in a row were silent, and ${until}`
      : `it is more than ${hops.length} hops away, and ${until}`;
  return reasonOf('DESTINATION_NOT_REACHED', `${where} was not reached: ${why}`);
}

function hopText(hop: Hop | undefined): string {
  if (hop === undefined) return 'a router';
  const name = hop.name === undefined ? '' : ` (${hop.name})`;
  return `hop ${hop.hop}, ${hop.address ?? 'an unknown router'}${name}`;
}
