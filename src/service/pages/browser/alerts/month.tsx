import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get, withQuery } from '../base/service.ts';
import { Days, lastDays, type DayTile } from '../parts/days.tsx';
import { Shown } from '../parts/notice.tsx';

/** The last days at a glance: a tile per day (UTC), which filters the list by its day. */

type Day = {
  readonly day: string;
  readonly failures: number;
  readonly degraded: number;
  readonly recoveries: number;
  readonly certificates: number;
  readonly locations: number;
};

const shownDays = 30;

export function Month() {
  const { query } = usePlace();
  const chosen = query.get('day');
  const { from, to } = lastDays(shownDays);
  const path = withQuery('/v1/alert-days', { from: from / 1000, to: to / 1000 });
  const loaded = useLoad(path, (signal) => get<Day[]>(path, signal), { keep: true });
  useReloadOn(['alert'], loaded.reload, { everyMs: 5000 });
  return (
    <section class="card" aria-labelledby="month">
      <h2 id="month">The last {shownDays} days (UTC)</h2>
      <Shown of={loaded} what="the month">
        {(days) => (
          <Days
            from={from}
            to={to}
            chosen={chosen}
            tileOf={(day) => tileOf(days.find((one) => one.day === day))}
            onChoose={(day) => setQuery({ day: chosen === day ? null : day, page: null })}
          />
        )}
      </Shown>
    </section>
  );
}

function tileOf(day: Day | undefined): DayTile {
  if (day === undefined || total(day) === 0) return { colour: 'none', figure: '·', text: 'no alerts' };
  return { colour: colour(day), figure: String(total(day)), text: sentence(day) };
}

const kinds = ['failures', 'degraded', 'recoveries', 'certificates', 'locations'] as const;
const oneOf = {
  failures: 'failure',
  degraded: 'degraded',
  recoveries: 'recovery',
  certificates: 'certificate',
  locations: 'location',
};
const total = (day: Day) => kinds.reduce((sum, kind) => sum + day[kind], 0);
const sentence = (day: Day) =>
  kinds
    .filter((kind) => day[kind] > 0)
    .map((kind) => `${day[kind]} ${day[kind] === 1 ? oneOf[kind] : kind}`)
    .join(', ');
const colour = (day: Day) => {
  if (day.failures > 0 || day.locations > 0) return 'failed';
  return day.degraded > 0 || day.certificates > 0 ? 'degraded' : 'passed';
};
