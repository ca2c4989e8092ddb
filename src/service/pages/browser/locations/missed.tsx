import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { usePlace } from '../base/router.ts';
import { Shown } from '../parts/notice.tsx';
import { Ago, moment } from '../parts/time.tsx';
import { rangeOfQueue } from './queue.tsx';
import { locationsPath } from './types.ts';

/** Runs that no agent took in time: over time, and of which checks. The range is that of the queue. */

type Missed = {
  readonly from: string;
  readonly to: string;
  readonly bucketSeconds: number;
  readonly buckets: readonly { readonly from: string; readonly count: number }[];
  readonly checks: readonly {
    readonly checkId: string;
    readonly name: string;
    readonly count: number;
    readonly lastAt: string;
  }[];
};

/** `missed`: how many runs were missed of late. The figures are read again when it changes. */
export function MissedRuns({ id, missed }: { id: string; missed: number | undefined }) {
  const { query } = usePlace();
  const range = rangeOfQueue(query);
  const loaded = useLoad(
    `missed ${id} ${range.id} ${missed}`,
    (signal) => {
      const to = Math.floor(Date.now() / 1000);
      const path = withQuery(`${locationsPath}/${id}/missed-runs`, { from: to - range.seconds, to });
      return get<Missed>(path, signal);
    },
    { keep: true },
  );
  return (
    <section class="card" aria-labelledby="missed">
      <h2 id="missed">Missed runs</h2>
      <Shown of={loaded} what="the missed runs">
        {(value) =>
          value.checks.length === 0 ? (
            <p class="soft">No run was missed in the last {range.title}.</p>
          ) : (
            <>
              <MissedBars missed={value} />
              <table aria-label="Checks with missed runs">
                <thead>
                  <tr>
                    <th scope="col">Check</th>
                    <th scope="col" class="number">
                      Missed
                    </th>
                    <th scope="col">Last</th>
                  </tr>
                </thead>
                <tbody>
                  {value.checks.map(({ checkId, name, count, lastAt }) => (
                    <tr key={checkId}>
                      <td class="any-break">
                        <a href={`/checks/${checkId}?tab=runs&status=missed`}>{name}</a>
                      </td>
                      <td class="number">{count}</td>
                      <td>
                        <Ago at={lastAt} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              <p class="soft">
                A run is missed if no agent takes it in time. More agents or slots help, or a longer interval.
              </p>
            </>
          )
        }
      </Shown>
    </section>
  );
}

const size = { width: 600, height: 80 };

function MissedBars({ missed: { from, to, bucketSeconds, buckets } }: { missed: Missed }) {
  const start = Date.parse(from);
  const span = Math.max(1, Date.parse(to) - start);
  const max = Math.max(1, ...buckets.map(({ count }) => count));
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  const wide = Math.max(2, ((bucketSeconds * 1000) / span) * size.width - 1);
  return (
    <figure class="line-chart">
      <svg
        class="suite-bars"
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${total} missed runs from ${moment(from)} to ${moment(to)}, at most ${max} in one bar`}
      >
        {buckets.map((bucket) => {
          const tall = Math.max(3, (bucket.count / max) * size.height);
          const x = ((Date.parse(bucket.from) - start) / span) * size.width;
          return (
            <rect
              key={bucket.from}
              class="failed"
              x={Math.min(x, size.width - wide)}
              y={size.height - tall}
              width={wide}
              height={tall}
            >
              <title>{`${bucket.count} missed, from ${moment(bucket.from)}`}</title>
            </rect>
          );
        })}
      </svg>
      <div class="line soft">
        <span>{moment(from)}</span>
        <span>{moment(to)}</span>
      </div>
    </figure>
  );
}
