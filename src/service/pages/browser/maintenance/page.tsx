import { get, withQuery } from '../base/service.ts';
import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { Month, useShownMonth, type Entry } from '../parts/month.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Moment, moment } from '../parts/time.tsx';
import { ChoiceField, TextField } from '../parts/form/inputs.tsx';
import {
  allWindows,
  effectsText,
  occurrenceWords,
  repeatText,
  type MaintenanceWindow,
  type Occurrence,
} from './windows.ts';

/** All maintenance windows: a month at a glance, and a list with filters. */

const colours: { readonly [S in Occurrence['status']]: string } = {
  SCHEDULED: 'planned',
  IN_PROGRESS: 'degraded',
  VERIFYING: 'degraded',
  COMPLETED: 'passed',
  CANCELLED: 'idle',
};

/** `going`: the windows with an occurrence in progress. */
function stateOf(window: MaintenanceWindow, going: ReadonlySet<number>): 'now' | 'ahead' | 'over' {
  const now = Date.now();
  if (going.has(window.id)) return 'now';
  const [from, to] = [Date.parse(window.startsAt), Date.parse(window.endsAt)];
  if (window.repeatUnit !== null)
    return window.repeatEndsAt !== null && Date.parse(window.repeatEndsAt) < now ? 'over' : 'ahead';
  if (now < from) return 'ahead';
  return now < to ? 'now' : 'over';
}
const stateWords = { now: 'in progress', ahead: 'ahead', over: 'over' } as const;

export function Page() {
  const { query } = usePlace();
  const { from, to } = useShownMonth();
  const mayWrite = useMay('READ_WRITE');
  const windows = useLoad('windows', allWindows);
  const occurrences = useLoad(
    `occurrences ${from.toISOString()}`,
    (signal) =>
      get<Occurrence[]>(
        withQuery('/v1/maintenance-windows/occurrences', {
          from: from.toISOString(),
          to: to.toISOString(),
        }),
        signal,
      ),
    { keep: true },
  );
  // The month that is shown may be another one.
  const present = useLoad('occurrences in progress', (signal) => {
    const now = Date.now();
    const at = (ms: number) => new Date(now + ms).toISOString();
    const path = withQuery('/v1/maintenance-windows/occurrences', { from: at(-60_000), to: at(60_000) });
    return get<Occurrence[]>(path, signal);
  });
  const going = new Set(
    (present.value ?? [])
      .filter(({ status }) => status === 'IN_PROGRESS' || status === 'VERIFYING')
      .map(({ maintenanceWindowId }) => maintenanceWindowId),
  );
  useReloadOn(['maintenance'], () => (windows.reload(), occurrences.reload(), present.reload()));
  return (
    <>
      <div class="page-head">
        <h1>Maintenance</h1>
        {mayWrite && (
          <div class="buttons">
            <a class="button main" href="/maintenance/new">
              New window
            </a>
          </div>
        )}
      </div>
      <Shown of={windows} what="the maintenance windows">
        {(all) => {
          const names = new Map(all.map(({ id, name }) => [id, name]));
          const entries = (occurrences.value ?? []).map((one): Entry => ({
            id: one.id,
            title: names.get(one.maintenanceWindowId) ?? `Window ${one.maintenanceWindowId}`,
            href: `/maintenance/${one.maintenanceWindowId}`,
            from: one.startsAt,
            to: one.endsAt,
            colour: colours[one.status],
            text: `${occurrenceWords[one.status]}, ${moment(one.startsAt)} to ${moment(one.endsAt)}`,
          }));
          const text = (query.get('q') ?? '').toLowerCase();
          const state = query.get('state') ?? '';
          const shown = all.filter(
            (window) =>
              (state === '' || stateOf(window, going) === state) &&
              [window.name, window.description ?? '', ...window.tags, ...window.silenceAlertsTags].some(
                (part) => part.toLowerCase().includes(text),
              ),
          );
          return (
            <>
              {occurrences.error !== undefined && (
                <p class="error" role="alert">
                  The calendar could not be read: {occurrences.error.message}
                </p>
              )}
              <Month label="Maintenance by day" what="maintenance" entries={entries} />
              <div class="filter-row" role="search" aria-label="Filter of the maintenance windows">
                <TextField
                  label="Search"
                  type="search"
                  value={query.get('q') ?? ''}
                  onChange={(q) => setQuery({ q })}
                />
                <ChoiceField
                  label="State"
                  value={state}
                  choices={[
                    { value: '', title: 'All' },
                    { value: 'now', title: 'In progress' },
                    { value: 'ahead', title: 'Ahead or repeating' },
                    { value: 'over', title: 'Over' },
                  ]}
                  onChange={(value) => setQuery({ state: value })}
                />
              </div>
              <section class="card flush" aria-label="Maintenance windows">
                {shown.length === 0 ? (
                  <Empty title={all.length === 0 ? 'No maintenance windows yet' : 'No window matches'}>
                    A window pauses checks and silences alerts while you work on a system.
                  </Empty>
                ) : (
                  <ul class="rows">
                    {shown.map((window) => (
                      <li key={window.id}>
                        <a class="row-name" href={`/maintenance/${window.id}`}>
                          {window.name}
                        </a>
                        <Status
                          status={stateOf(window, going) === 'now' ? 'running' : 'waiting'}
                          word={stateWords[stateOf(window, going)]}
                        />
                        <span>
                          <Moment at={window.startsAt} />, {repeatText(window)}
                        </span>
                        <span class="soft">{effectsText(window)}</span>
                      </li>
                    ))}
                  </ul>
                )}
              </section>
            </>
          );
        }}
      </Shown>
    </>
  );
}
