import { list, object, text } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Part, Scroll } from './part.tsx';
import type { Run } from './types.ts';

/** The waterfall: phases of the attempt one after another, and each redirect hop with its own. */

const phases = [
  { name: 'remainder', title: 'Waiting' },
  { name: 'wait', title: 'Waiting' },
  { name: 'dns', title: 'DNS' },
  { name: 'connect', title: 'Connect' },
  { name: 'tcp', title: 'Connect' },
  { name: 'tunnel', title: 'Proxy tunnel' },
  { name: 'tls', title: 'TLS' },
  { name: 'firstByte', title: 'First byte' },
  { name: 'download', title: 'Download' },
] as const;

type Bar = { title: string; name: string; from: number; ms: number };

function barsOf(timings: unknown, start = 0): Bar[] {
  const values = object(timings);
  let from = start;
  return phases.flatMap(({ name, title }) => {
    const ms = values[name];
    if (typeof ms !== 'number' || ms <= 0) return [];
    const bar = { title, name, from, ms };
    from += ms;
    return [bar];
  });
}

export function Phases({ run }: { run: Run }) {
  const hops = list(object(run.details)['hops']).slice(0, 20).map(object);
  const whole = barsOf(run.timings);
  const total = run.timings?.['total'] ?? run.responseTime;
  if (whole.length === 0 && hops.length < 2) return null;
  return (
    <Part title="Phases">
      <Waterfall bars={whole} total={total} label={`Phases of the attempt: ${milliseconds(total)} in all`} />
      {hops.length > 1 && (
        <>
          <h3>Redirects</h3>
          <ol class="hops">
            {hops.map((hop, at) => (
              <li key={at}>
                <span class="hop-line">
                  <b>{text(hop['status'] ?? '–', 10)}</b> {text(hop['url'], 500)}
                  <span class="soft"> {text(hop['address'], 60)}</span>
                </span>
                <HopBars hop={hop} />
              </li>
            ))}
          </ol>
        </>
      )}
    </Part>
  );
}

/** The waterfall of one call of a script. */
export function CallPhases({ timings, name }: { timings: unknown; name: string }) {
  const bars = barsOf(timings);
  const { total } = object(timings);
  if (bars.length === 0) return null;
  const whole = typeof total === 'number' ? total : bars.reduce((sum, { ms }) => sum + ms, 0);
  return <Waterfall bars={bars} total={whole} label={`Phases of ${name}: ${milliseconds(whole)}`} />;
}

function HopBars({ hop }: { hop: { readonly [name: string]: unknown } }) {
  const bars = barsOf(hop['timings'] ?? hop['phases'] ?? hop);
  if (bars.length === 0) return null;
  const total = bars.reduce((sum, { ms }) => sum + ms, 0);
  return <Waterfall bars={bars} total={total} label={`Phases of this hop: ${milliseconds(total)}`} />;
}

function Waterfall({ bars, total, label }: { bars: readonly Bar[]; total: number; label: string }) {
  const whole = Math.max(total, 0.001);
  return (
    <Scroll label={label}>
      <table class="waterfall" aria-label="Phases">
        <thead class="hidden-text">
          <tr>
            <th scope="col">Phase</th>
            <th scope="col">From and to</th>
            <th scope="col">Duration</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ title, name, from, ms }) => (
            <tr key={name}>
              <th scope="row">{title}</th>
              <td class="waterfall-track">
                <span
                  class={`waterfall-bar phase-${name}`}
                  style={{
                    marginLeft: `${Math.min(99, (from / whole) * 100)}%`,
                    width: `${Math.max(0.6, Math.min(100, (ms / whole) * 100))}%`,
                  }}
                />
              </td>
              <td class="number">{milliseconds(ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
