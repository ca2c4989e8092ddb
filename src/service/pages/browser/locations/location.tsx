import { useEffect } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import type { PageProps } from '../base/page.ts';
import { go, usePlace } from '../base/router.ts';
import { get, send } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { ask } from '../parts/dialog.tsx';
import { sayDone, sayFailed } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { currentTab, Tabs } from '../parts/tabs.tsx';
import { lasting } from '../parts/time.tsx';
import { Agents } from './agents.tsx';
import { LocationForm } from './form.tsx';
import { Keys } from './keys.tsx';
import { useLiveFigures } from './live-figures.ts';
import { MissedRuns } from './missed.tsx';
import { QueueOverTime } from './queue.tsx';
import { locationsPath, waiting, type Location, type LocationLoad } from './types.ts';
import { PageHead } from '../parts/page-head.tsx';

/** One location: agents, queue, keys, and its settings. */
export function Page({ params }: PageProps) {
  const path = `${locationsPath}/${encodeURIComponent(params['id'] ?? '')}`;
  const { query } = usePlace();
  const mayChange = useMay('ADMIN');
  const location = useLoad(path, (signal) => get<Location>(path, signal));
  const load = useLoad(`${path}/agents`, (signal) => get<LocationLoad>(`${path}/agents`, signal));
  const reload = () => {
    location.reload();
    load.reload();
  };
  useReloadOn(['location'], location.reload, { everyMs: 5000 });
  useLiveFigures(location.value?.slugName, load.reload);
  const name = location.value?.name;
  useEffect(() => {
    if (name !== undefined) document.title = name;
  }, [name]);
  const tabs = [
    { id: 'agents', title: 'Agents', count: location.value?.agentCount },
    { id: 'keys', title: 'Keys and installation' },
    ...(mayChange ? [{ id: 'settings', title: 'Settings' }] : []),
  ];
  const tab = currentTab(tabs, query);
  return (
    <Shown of={location} what="the location">
      {(shown) => (
        <>
          <PageHead trail={[{ href: '/locations', title: 'Locations' }]} title={shown.name}>
            <code class="soft">{shown.slugName}</code>
          </PageHead>
          <Tabs label="Parts of the location" tabs={tabs} />
          {tab === 'agents' && (
            <>
              <Shown of={load} what="the agents">
                {(value) => (
                  <>
                    <Figures load={value} agentCount={shown.agentCount} />
                    <Agents load={value} />
                  </>
                )}
              </Shown>
              <QueueOverTime id={shown.id} load={load.value} />
              <MissedRuns id={shown.id} missed={load.value?.missedRuns} />
            </>
          )}
          {tab === 'keys' && <Keys location={shown} agents={load.value?.agents ?? []} reload={reload} />}
          {tab === 'settings' && (
            <>
              <LocationForm
                location={shown}
                onSaved={(saved) => {
                  location.set(() => saved);
                  sayDone('Saved the location');
                }}
              />
              <Removal location={shown} />
            </>
          )}
        </>
      )}
    </Shown>
  );
}

function Figures({ load, agentCount }: { load: LocationLoad; agentCount: number }) {
  const { queued, oldestSeconds } = waiting(load);
  return (
    <>
      {load.recommendation && (
        <p class="note warn" role="status">
          <b>This location needs more:</b> {load.recommendation.message}.
        </p>
      )}
      <div class="figures">
        <div class="figure">
          <b>{agentCount}</b>
          <span>agents connected</span>
        </div>
        <div class="figure">
          <b>{queued}</b>
          <span>jobs wait</span>
        </div>
        <div class="figure">
          <b>{queued === 0 ? '–' : lasting(oldestSeconds * 1000)}</b>
          <span>oldest wait</span>
        </div>
        <div class="figure">
          <b>{load.missedRuns}</b>
          <span>missed runs in 24 h</span>
        </div>
      </div>
    </>
  );
}

function Removal({ location }: { location: Location }) {
  const remove = async () => {
    const isSure = await ask({
      title: `Delete the location ${location.name}?`,
      text: 'Its keys are deleted too, so its agents are refused. Checks that use it have to be changed first.',
      action: 'Delete location',
      isDangerous: true,
    });
    if (!isSure) return;
    try {
      await send('DELETE', `${locationsPath}/${location.id}`);
      sayDone(`Deleted the location ${location.name}`);
      go('/locations');
    } catch (error) {
      sayFailed(error);
    }
  };
  return (
    <section class="card" aria-labelledby="removal">
      <h2 id="removal">Delete the location</h2>
      <button type="button" class="danger" onClick={() => void remove()}>
        Delete location
      </button>
    </section>
  );
}
