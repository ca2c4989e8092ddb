import { useEffect, useRef, useState } from 'preact/hooks';
import { get, SignedOut, withQuery } from '../base/service.ts';
import { forgetUser } from '../base/user.ts';
import { sayFailed } from '../parts/messages.tsx';
import { useLoad } from '../base/load.ts';
import { useLive } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { milliseconds } from '../base/words.ts';
import { hasRange, RangePicker, rangeOf } from '../charts/range.tsx';
import { Button } from '../parts/button.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Ago } from '../parts/time.tsx';
import type { Run } from '../runs/types.ts';
import type { Check } from './types.ts';

const limit = 25;
type Page = { readonly entries: Run[]; readonly nextId: string | null };
const fields = 'id,status,reason,runLocation,responseTime,startedAt,resultType,attempts,totals';

type Places = { readonly locations?: readonly string[]; readonly privateLocations?: readonly string[] };
const namesOf = ({ locations = [], privateLocations = [] }: Places) => [...locations, ...privateLocations];

/** Where a check runs: a check without locations of its own has those of its group. */
function usePlaces(check: Check): readonly string[] {
  const own = namesOf(check);
  const path = `/v2/check-groups/${check.groupId}`;
  const group = useLoad(check.groupId === null ? null : path, (signal) => get<Places>(path, signal));
  return [...new Set([...own, ...(group.value === undefined ? [] : namesOf(group.value))])];
}

/** The runs of a check with filters. New runs wait behind a button, so that nothing moves while someone reads. */
export function Runs({ check }: { check: Check }) {
  const { query } = usePlace();
  const location = query.get('location') ?? '';
  const status = query.get('status') ?? '';
  const attempts = query.get('attempts') ?? '';
  const range = hasRange(query) ? rangeOf(query) : null;
  const [more, setMore] = useState<readonly Page[]>([]);
  const [fresh, setFresh] = useState(0);
  const address = (nextId?: string) =>
    withQuery(`/v2/check-results/${check.id}`, {
      limit,
      nextId,
      fields,
      location,
      status,
      resultType: attempts === '' ? 'FINAL' : attempts,
      from: range === null ? undefined : Math.floor(range.from / 1000),
      to: range === null ? undefined : Math.ceil(range.to / 1000),
    });
  const shownKey = useRef('');
  const key = `runs ${check.id} ${location} ${status} ${attempts} ${range?.preset ?? `${range?.from} ${range?.to}`}`;
  const first = useLoad(key, (signal) => get<Page>(address(), signal), { keep: true });
  useEffect(() => {
    setMore([]);
    setFresh(0);
    shownKey.current = key;
  }, [key]);
  useLive(
    ['run'],
    ({ type }) => setFresh((number) => (type === 'reset' ? Math.max(1, number) : number + 1)),
    {
      checkId: check.id,
    },
  );
  const show = () => {
    setFresh(0);
    setMore([]);
    first.reload();
  };
  const pages = first.value === undefined ? [] : [first.value, ...more];
  const runs = pages.flatMap(({ entries }) => entries);
  const nextId = pages.at(-1)?.nextId ?? null;
  const places = usePlaces(check);
  return (
    <section aria-label="Runs">
      <div class="filters">
        <label>
          Status{' '}
          <select value={status} onChange={({ currentTarget: { value } }) => setQuery({ status: value })}>
            <option value="">any</option>
            {['passed', 'degraded', 'failed', 'errored', 'cancelled', 'missed'].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label>
          Location{' '}
          <select value={location} onChange={({ currentTarget: { value } }) => setQuery({ location: value })}>
            <option value="">any</option>
            {location !== '' && !places.includes(location) && <option value={location}>{location}</option>}
            {places.map((place) => (
              <option key={place} value={place}>
                {place}
              </option>
            ))}
          </select>
        </label>
        <label>
          Show{' '}
          <select value={attempts} onChange={({ currentTarget: { value } }) => setQuery({ attempts: value })}>
            <option value="">final results</option>
            <option value="ATTEMPT">repeated attempts</option>
            <option value="ALL">both</option>
          </select>
        </label>
      </div>
      <RangePicker withAll />
      <div role="status">
        {fresh > 0 && (
          <Button onClick={show}>
            {fresh} new {fresh === 1 ? 'run' : 'runs'}
          </Button>
        )}
      </div>
      <Shown of={first} what="the runs">
        {() =>
          runs.length === 0 ? (
            <div class="card">
              <Empty title="No run matches.">Change the filters, or choose a longer time.</Empty>
            </div>
          ) : (
            <div class="card flush" tabIndex={0} role="region" aria-label="List of runs">
              <table class="runs-table" aria-label="Runs">
                <thead>
                  <tr>
                    <th scope="col">Status</th>
                    <th scope="col">Started</th>
                    <th scope="col">Location</th>
                    <th scope="col" class="number">
                      Time
                    </th>
                    <th scope="col">Reason</th>
                  </tr>
                </thead>
                <tbody>
                  {runs.map((run) => (
                    <tr key={run.id}>
                      <td>
                        <Status status={run.status} />
                      </td>
                      <td>
                        <a href={`/checks/${check.id}/runs/${run.id}`}>
                          <Ago at={run.startedAt} />
                        </a>
                        {run.resultType === 'ATTEMPT' && <div class="soft">repeated</div>}
                        {run.resultType === 'FINAL' && run.attempts > 0 && (
                          <div class="soft">
                            {run.attempts} {run.attempts === 1 ? 'retry' : 'retries'}
                          </div>
                        )}
                      </td>
                      <td>{run.runLocation}</td>
                      <td class="number">{milliseconds(run.responseTime)}</td>
                      <td class="break">{run.reason?.message ?? ''}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
      {nextId !== null && (
        <Button
          onClick={() =>
            void get<Page>(address(nextId)).then(
              // Another filter may have been chosen meanwhile.
              (page) => shownKey.current === key && setMore((known) => [...known, page]),
              (error: unknown) => (error instanceof SignedOut ? forgetUser() : sayFailed(error)),
            )
          }
        >
          Show older runs
        </Button>
      )}
    </section>
  );
}
