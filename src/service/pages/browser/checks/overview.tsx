import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { milliseconds, percent } from '../base/words.ts';
import { RangePicker, rangeOf } from '../charts/range.tsx';
import { Bars } from '../parts/bars.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Suite } from '../suites/suite.tsx';
import { AvailabilityChart } from './availability-chart.tsx';
import { Pings, PingUrl } from './heartbeat.tsx';
import { Happenings } from './happenings.tsx';
import { ResponseCharts } from './response-charts.tsx';
import { figuresOf, timelinePath, type Timeline } from './timeline.ts';
import type { Check, InShort } from './types.ts';

/** Charts of the check over any time, with what happened to it. */
export function Overview({ check, inShort }: { check: Check; inShort: InShort | null }) {
  const { query } = usePlace();
  const range = rangeOf(query);
  const read = (groupBy?: 'location') => (signal: AbortSignal) =>
    get<Timeline>(timelinePath(check.id, query, groupBy), signal);
  // A preset moves with time: its name is the key, and live events read it again.
  const key = `${check.id} ${range.preset ?? `${range.from} ${range.to}`}`;
  const whole = useLoad(`timeline ${key}`, read(), { keep: true });
  const isByLocation = query.get('chart') === 'locations';
  const places = useLoad(isByLocation ? `places ${key}` : null, read('location'), { keep: true });
  useReloadOn(['run'], () => (whole.reload(), places.reload()), { checkId: check.id, everyMs: 5000 });
  // What is marked on the charts.
  useReloadOn(['alert', 'incident', 'maintenance', 'deployment'], whole.reload, { everyMs: 5000 });
  // A check that never ran has no status.
  const status = useLoad(inShort?.lastRunAt ? `status ${check.id}` : null, (signal) =>
    get<{ sslDaysRemaining: number | null }>(`/v1/check-statuses/${check.id}`, signal),
  );
  return (
    <>
      {check.checkType === 'HEARTBEAT' && <PingUrl check={check} />}
      <RangePicker />
      {check.checkType === 'HEARTBEAT' && <Pings checkId={check.id} />}
      <Shown of={whole} what="the charts">
        {(timeline) => {
          const figures = figuresOf(timeline);
          return (
            <>
              <div class="figures">
                <Figure title="Availability" value={percent(figures.availability)} />
                <Figure title="Runs" value={String(figures.count)} />
                <Figure title="Failed" value={String(figures.failed)} href={failedRuns(check.id, timeline)} />
                <Figure title="Retries" value={String(figures.retries)} />
                <Figure title="Median" value={milliseconds(figures.p50)} />
                <Figure title="p95" value={milliseconds(figures.p95)} />
                <Figure title="p99" value={milliseconds(figures.p99)} />
                {typeof status.value?.sslDaysRemaining === 'number' && (
                  <Figure {...expiryOf(status.value.sslDaysRemaining)} />
                )}
              </div>
              {inShort !== null && (
                <div class="card">
                  <h2>Last 24 hours</h2>
                  <div class="wide-bars">
                    <Bars bars={inShort.bars} />
                  </div>
                </div>
              )}
              {figures.count === 0 ? (
                <div class="card">
                  <Empty title="No runs in this time.">Choose a longer time, or run the check now.</Empty>
                </div>
              ) : (
                <>
                  {check.checkType !== 'HEARTBEAT' && (
                    <ResponseCharts checkId={check.id} timeline={timeline} places={places.value ?? null} />
                  )}
                  <AvailabilityChart checkId={check.id} timeline={timeline} />
                </>
              )}
              <Happenings marks={timeline.marks} checkId={check.id} />
            </>
          );
        }}
      </Shown>
      {check.checkType === 'PLAYWRIGHT' && <Suite checkId={check.id} />}
    </>
  );
}

const expiryOf = (days: number) =>
  days < 0
    ? { title: 'Certificate expired', value: `${-days} days ago` }
    : { title: 'Certificate expires in', value: `${days} ${days === 1 ? 'day' : 'days'}` };

const failedRuns = (checkId: string, { from, to }: Timeline) =>
  withQuery(`/checks/${checkId}`, { tab: 'runs', status: 'failed', from, to });

function Figure({ title, value, href }: { title: string; value: string; href?: string }) {
  return (
    <div class="figure">
      <b>
        {href === undefined || value === '0' ? (
          value
        ) : (
          <a href={href} aria-label={`${title}: ${value} runs`}>
            {value}
          </a>
        )}
      </b>
      <span class="soft">{title}</span>
    </div>
  );
}
