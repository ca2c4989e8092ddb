import { useEffect, useMemo } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { lasting, moment } from '../parts/time.tsx';
import { continueSamples, readSamples } from './queue-samples.ts';
import { waiting, type LocationLoad } from './types.ts';

/** How many jobs waited at a location, and how long, over time. */

const ranges = [
  { id: '24h', title: '24 h', seconds: 86_400 },
  { id: '1h', title: '1 h', seconds: 3600 },
  { id: '6h', title: '6 h', seconds: 21_600 },
  { id: '7d', title: '7 d', seconds: 604_800 },
] as const;

/** The range that the address names. */
export const rangeOfQueue = (query: URLSearchParams) =>
  ranges.find((one) => one.id === query.get('range')) ?? ranges[0];

/** `load`: the latest figures of the location, which continue the samples. */
export function QueueOverTime({ id, load }: { id: string; load: LocationLoad | undefined }) {
  const { query } = usePlace();
  const { id: name, seconds } = rangeOfQueue(query);
  const loaded = useLoad(`${id} ${name}`, (signal) => readSamples(id, seconds, signal), { keep: true });
  const { set, reload } = loaded;
  useEffect(() => {
    if (load === undefined) return;
    const samples = continueSamples(id, seconds, waiting(load));
    if (samples === 'old') reload();
    else if (samples !== null) set(() => samples);
  }, [load, id, seconds, set, reload]);
  return (
    <section class="card" aria-labelledby="queue">
      <div class="line">
        <h2 id="queue">Queue over time</h2>
        <label>
          <span class="hidden-text">Range of the queue</span>
          <select
            value={name}
            onChange={({ currentTarget: { value } }) =>
              setQuery({ range: value === ranges[0].id ? null : value })
            }
          >
            {ranges.map((one) => (
              <option key={one.id} value={one.id}>
                {one.title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Shown of={loaded} what="the queue">
        {(metrics) =>
          metrics.timestamps.length === 0 ? (
            <Empty title="No samples yet">The service takes one each minute.</Empty>
          ) : (
            <div class="grid">
              <Line
                title="Jobs that waited"
                times={metrics.timestamps}
                values={metrics.queueSize}
                word={String}
              />
              <Line
                title="Wait of the oldest job"
                times={metrics.timestamps}
                values={metrics.oldestScheduledCheckRun}
                word={(seconds) => lasting(seconds * 1000)}
              />
            </div>
          )
        }
      </Shown>
    </section>
  );
}

const size = { width: 600, height: 120 };
const columns = 300;

/** A line of the highest value in each part of the range. */
function Line({
  title,
  times,
  values,
  word,
}: {
  title: string;
  times: readonly string[];
  values: readonly number[];
  word: (value: number) => string;
}) {
  const points = useMemo(() => {
    const each = Math.max(1, Math.ceil(values.length / columns));
    const highest: number[] = [];
    for (let at = 0; at < values.length; at += each) highest.push(Math.max(...values.slice(at, at + each)));
    return highest;
  }, [values]);
  const max = Math.max(0, ...points);
  const at = values.indexOf(max);
  const now = values.at(-1) ?? 0;
  const x = (index: number) =>
    points.length < 2 ? 0 : Math.round((index / (points.length - 1)) * size.width * 10) / 10;
  const y = (value: number) => Math.round((1 - value / (max || 1)) * (size.height - 4) * 10) / 10 + 2;
  const line = points.map((value, index) => `${x(index)},${y(value)}`).join(' ');
  const [first, last] = [times[0], times.at(-1)];
  return (
    <figure class="line-chart">
      <figcaption>
        <b>{title}</b>{' '}
        <span class="soft">
          now {word(now)}, at most {word(max)}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: now ${word(now)}; at most ${word(max)}${times[at] ? `, at ${moment(times[at])}` : ''}`}
      >
        <polygon class="area" points={`0,${size.height} ${line} ${size.width},${size.height}`} />
        <polyline points={line} />
      </svg>
      <div class="line soft">
        <span>{first && moment(first)}</span>
        <span>{last && moment(last)}</span>
      </div>
    </figure>
  );
}
