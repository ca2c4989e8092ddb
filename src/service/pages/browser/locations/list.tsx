import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { get, getList, withQuery } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf, Paging } from '../parts/paging.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, lasting } from '../parts/time.tsx';
import { useLiveFigures } from './live-figures.ts';
import { locationsPath, waiting, type Location, type LocationLoad } from './types.ts';

/** All private locations: their agents, their queues, and what they lack. */

const limit = 25;

export function Page() {
  const { query } = usePlace();
  const page = pageOf(query);
  const mayChange = useMay('ADMIN');
  const path = withQuery(locationsPath, { limit, page });
  const loaded = useLoad(path, (signal) => getList<Location>(path, signal), { keep: true });
  useReloadOn(['location'], loaded.reload, { everyMs: 3000 });
  return (
    <>
      <div class="page-head">
        <h1>Locations</h1>
        {mayChange && (
          <div class="buttons">
            <a class="button main" href="/locations/new">
              New location
            </a>
          </div>
        )}
      </div>
      <Shown of={loaded} what="locations">
        {({ entries, total }) =>
          entries.length === 0 ? (
            <div class="card">
              <Empty title="No private locations yet">
                A private location is a place of yours where agents run checks, such as an office or a
                cluster.
              </Empty>
            </div>
          ) : (
            <>
              <div class="card flush">
                <table class="stacked" aria-label="Locations">
                  <thead>
                    <tr>
                      <th scope="col">Location</th>
                      <th scope="col">State</th>
                      <th scope="col">Agents</th>
                      <th scope="col">Last contact</th>
                      <th scope="col">Queue</th>
                    </tr>
                  </thead>
                  <tbody>
                    {entries.map((location) => (
                      <Row key={location.id} location={location} />
                    ))}
                  </tbody>
                </table>
              </div>
              <Paging total={total ?? entries.length} limit={limit} />
            </>
          )
        }
      </Shown>
    </>
  );
}

function Row({ location }: { location: Location }) {
  const { id, name, slugName, agentCount, lastSeen, minAgentVersion } = location;
  const load = useLoad(`${id} ${agentCount}`, (signal) =>
    get<LocationLoad>(`${locationsPath}/${id}/agents`, signal),
  );
  useLiveFigures(slugName, load.reload);
  const queue = load.value && waiting(load.value);
  return (
    <tr>
      <td data-title="Location">
        <a href={`/locations/${id}`}>{name}</a>
        <div class="soft">{slugName}</div>
      </td>
      <td data-title="State">
        <LocationState agentCount={agentCount} load={load.value} isUnknown={load.error !== undefined} />
      </td>
      <td data-title="Agents">
        {agentCount}
        {minAgentVersion && <div class="soft">from version {minAgentVersion}</div>}
      </td>
      <td data-title="Last contact">
        <Ago at={lastSeen} />
      </td>
      <td data-title="Queue">
        {queue === undefined
          ? load.error === undefined
            ? '…'
            : 'not known'
          : queue.queued === 0
            ? 'empty'
            : `${queue.queued} waiting, the oldest for ${lasting(queue.oldestSeconds * 1000)}`}
      </td>
    </tr>
  );
}

function LocationState({
  agentCount,
  load,
  isUnknown,
}: {
  agentCount: number;
  load: LocationLoad | undefined;
  /** Its agents could not be read. */
  isUnknown: boolean;
}) {
  const missed = load?.missedRuns ?? 0;
  const guards = (load?.agents ?? [])
    .filter(({ connected }) => connected)
    .flatMap(({ hostname, condition }) =>
      (condition?.guards ?? []).map(({ name }) => `${hostname || 'an agent'}: ${name}`),
    );
  return (
    <>
      {agentCount === 0 ? (
        <Status status="failing" word="no agent" />
      ) : guards.length > 0 ? (
        <Status status="degraded" word="agents need help" />
      ) : load?.recommendation ? (
        <Status status="degraded" word="too small" />
      ) : load === undefined ? (
        <Status status="waiting" word={isUnknown ? 'not known' : 'is read'} />
      ) : (
        <Status status="up" word="working" />
      )}
      {load?.recommendation && <div class="soft">{load.recommendation.message}</div>}
      {guards.length > 0 && (
        <div class="soft">
          {guards.slice(0, 3).join(', ')}
          {guards.length > 3 && ', …'}
        </div>
      )}
      {missed > 0 && <div class="soft">{missed} missed runs in 24 h</div>}
    </>
  );
}
