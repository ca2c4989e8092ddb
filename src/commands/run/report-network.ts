import type { Hop } from '../../executors/evidence/trace-hops.ts';
import type { Traceroute } from '../../executors/evidence/traceroute.ts';
import { isFields, type Fields } from '../../json-values.ts';

/** Formats the network evidence of a result for a terminal. */

/** Lines of `details.traceroute` and `details.packetCapture`; empty if the result has neither. */
export function networkLines(details: Fields): string[] {
  return [...traceLines(details['traceroute']), ...captureLines(details['packetCapture'])];
}

function traceLines(value: unknown): string[] {
  if (!isFields(value)) return [];
  if (typeof value['unavailable'] === 'string')
    return [`traceroute    not available: ${value['unavailable']}`];
  const { address, port, way, reached, hops } = value as Traceroute; // made by the agent itself, in this process
  const outcome = reached ? `reached over ${hops.length} hops` : 'not reached';
  return [
    `traceroute    ${address}${typeof port === 'number' ? ` port ${port}` : ''} by ${way.toUpperCase()}: ${outcome}`,
    `  hop  ${'address'.padEnd(24)}    loss     last      avg     best    worst   stddev`,
    ...hops.map(hopLine),
  ];
}

function hopLine({ hop, address, name, lossPercent, error, ...times }: Hop): string {
  const columns = [times.lastMs, times.avgMs, times.bestMs, times.worstMs, times.stddevMs];
  const shown = columns.map((time) => (time === null ? '-' : time.toFixed(1)).padStart(8));
  const said = [...(name === undefined ? [] : [name]), ...(error === undefined ? [] : [error])];
  const more = said.length === 0 ? '' : `  ${said.join(', ')}`;
  return `  ${String(hop).padStart(3)}  ${(address ?? '*').padEnd(24)}  ${lossPercent.toFixed(0).padStart(5)}% ${shown.join(' ')}${more}`;
}

function captureLines(value: unknown): string[] {
  if (!isFields(value)) return [];
  if (typeof value['unavailable'] === 'string')
    return [`packets       not captured: ${value['unavailable']}`];
  return [`packets       ${String(value['summary'])}`];
}
