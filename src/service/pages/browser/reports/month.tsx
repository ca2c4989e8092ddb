import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { setQuery } from '../base/router.ts';
import { get, withQuery } from '../base/service.ts';
import { Days, lastDays, type DayTile } from '../parts/days.tsx';
import { Shown } from '../parts/notice.tsx';

/** The availability of all checks on each of the last days. A tile shows the report of its day. */

type Day = {
  readonly day: string;
  readonly runs: number;
  readonly failed: number;
  readonly availability: number | null;
};
const shownDays = 30;

export function Month({ tag, chosen }: { tag: string; chosen: string | null }) {
  const { from, to } = lastDays(shownDays);
  const path = withQuery('/v1/report-days', { from: from / 1000, to: to / 1000, filterByTags: tag });
  const loaded = useLoad(path, (signal) => get<Day[]>(path, signal), { keep: true });
  useReloadOn(['run', 'check'], loaded.reload, { everyMs: 60_000 });
  return (
    <section class="card" aria-labelledby="month">
      <h2 id="month">The last {shownDays} days (UTC)</h2>
      <p class="hint">Runs of the last two hours may be missing.</p>
      <Shown of={loaded} what="the month">
        {(days) => (
          <Days
            from={from}
            to={to}
            chosen={chosen}
            tileOf={(day) => tileOf(days.find((one) => one.day === day))}
            onChoose={(day) =>
              setQuery(chosen === day ? { first: null, last: null } : { first: day, last: day })
            }
          />
        )}
      </Shown>
    </section>
  );
}

function tileOf(day: Day | undefined): DayTile {
  if (day === undefined || day.availability === null) return { colour: 'none', figure: '·', text: 'no runs' };
  const { availability, runs, failed } = day;
  return {
    colour: availability === 100 ? 'passed' : availability >= 99 ? 'degraded' : 'failed',
    // Cut, so that a day with a failure never has 100.
    figure: availability === 100 ? '100' : (Math.floor(availability * 10) / 10).toFixed(1),
    text: `${availability} % available, ${failed} of ${runs} runs failed`,
  };
}
