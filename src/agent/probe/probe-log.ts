import { shortened } from '../../shortened.ts';
import type { Gauges } from './gauges.ts';
import type { ProbeRun } from './run.ts';

/** The log of one probe. It is kept for `debug=true` only. */

const maxLines = 200;
const maxValue = 500;

export type ProbeLog = { add: ProbeRun['log']; page: (gauges: Gauges, module: string) => string };

/** `common`: facts that every line has. */
export function createProbeLog(common: { readonly [name: string]: string }, now: () => number): ProbeLog {
  // Most probes are not debugged, so the lines are written only for a page.
  const entries: { at: number; message: string; facts: { readonly [name: string]: unknown } }[] = [];
  const lineOf = ({ at, message, facts }: (typeof entries)[number]): string => {
    const shown = Object.entries({ ...common, msg: message, ...facts })
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => `${name}=${valueText(String(value))}`);
    return `ts=${new Date(at).toISOString()} ${shown.join(' ')}`;
  };
  return {
    add: (message, facts = {}) => {
      if (entries.length < maxLines) entries.push({ at: now(), message, facts });
    },
    page: (gauges, module) =>
      [
        'Logs for the probe:',
        ...entries.map(lineOf),
        '\n\n\nMetrics that would have been returned:',
        gauges.text(),
        '\n\nModule configuration:',
        module,
      ].join('\n'),
  };
}

function valueText(value: string): string {
  const short = shortened(value, maxValue);
  return /^[\w.:/-]+$/.test(short) ? short : JSON.stringify(short);
}
