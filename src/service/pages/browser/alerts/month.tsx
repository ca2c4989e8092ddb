import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get, withQuery } from '../base/service.ts';
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

const dayMs = 86_400_000;
const shownDays = 30;
const dateWord = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });
const isoDay = (at: number) => new Date(at).toISOString().slice(0, 10);

export function Month() {
  const { query } = usePlace();
  const chosen = query.get('day');
  const end = (Math.floor(Date.now() / dayMs) + 1) * dayMs;
  const from = end - shownDays * dayMs;
  const path = withQuery('/v1/alert-days', { from: from / 1000, to: end / 1000 });
  const loaded = useLoad(path, (signal) => get<Day[]>(path, signal), { keep: true });
  useReloadOn(['alert'], loaded.reload, { everyMs: 5000 });
  return (
    <section class="card" aria-labelledby="month">
      <h2 id="month">The last {shownDays} days</h2>
      <Shown of={loaded} what="the month">
        {(days) => (
          <div class="days">
            {Array.from({ length: shownDays }, (_, at) => {
              const time = from + at * dayMs;
              const day = isoDay(time);
              const found = days.find((one) => one.day === day);
              const count = found === undefined ? 0 : total(found);
              return (
                <button
                  key={day}
                  type="button"
                  class={`day ${found === undefined ? 'none' : colour(found)}`}
                  aria-pressed={chosen === day}
                  title={found === undefined ? 'no alerts' : sentence(found)}
                  onClick={() => setQuery({ day: chosen === day ? null : day, page: null })}
                >
                  <span class="day-date">{dateWord.format(time)}</span>
                  <span class="hidden-text">: {found === undefined ? 'no alerts' : sentence(found)}</span>
                  <b aria-hidden="true">{count === 0 ? '·' : count}</b>
                </button>
              );
            })}
          </div>
        )}
      </Shown>
    </section>
  );
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
