import { useEffect } from 'preact/hooks';
import type { PageProps } from '../base/page.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { begin, get, withQuery } from '../base/service.ts';
import { Shown } from '../parts/notice.tsx';
import { Trail } from '../parts/page-head.tsx';
import { currentTab, Tabs } from '../parts/tabs.tsx';
import { ActiveRuns } from './active-runs.tsx';
import { Actions } from './actions.tsx';
import { SentAlerts } from './alerts.tsx';
import { ErrorGroups } from './errors.tsx';
import { Head } from './head.tsx';
import { Overview } from './overview.tsx';
import { Runs } from './runs-list.tsx';
import { Settings } from './settings.tsx';
import { timelinePath } from './timeline.ts';
import type { Check, InShort } from './types.ts';

const tabs = [
  { id: 'overview', title: 'Overview' },
  { id: 'runs', title: 'Runs' },
  { id: 'errors', title: 'Errors' },
  { id: 'alerts', title: 'Alerts' },
  { id: 'settings', title: 'Settings' },
] as const;

const checkPath = (id: string) => `/v1/checks/${encodeURIComponent(id)}`;
const inShortPath = (id: string) => withQuery('/v1/checks-overview', { search: id, limit: 1 });

export function early({ id = '' }: PageProps['params'], query: URLSearchParams): void {
  begin(checkPath(id));
  begin(inShortPath(id));
  if (currentTab(tabs, query) === 'overview') begin(timelinePath(id, query));
}

/** One check: its state, charts, runs, errors and alerts. */
export function Page({ params: { id = '' } }: PageProps) {
  const { query } = usePlace();
  const check = useLoad(`check ${id}`, (signal) => get<Check>(checkPath(id), signal));
  const inShort = useLoad(`short ${id}`, async (signal) => {
    const { entries } = await get<{ entries: InShort[] }>(inShortPath(id), signal);
    return entries.find((entry) => entry.id === id) ?? null;
  });
  useReloadOn(['run', 'state', 'check'], inShort.reload, { checkId: id, everyMs: 1500 });
  // Agents that join or leave, and maintenance, decide whether the check waits.
  useReloadOn(['location', 'maintenance'], inShort.reload, { everyMs: 1500 });
  useReloadOn(['check'], check.reload, { checkId: id });
  const name = check.value?.name;
  useEffect(() => {
    document.title = name ?? 'Check';
  }, [name]);
  const groupId = check.value?.groupId ?? null;
  const tab = currentTab(tabs, query);
  return (
    <>
      <Trail
        steps={[
          { href: '/', title: 'Checks' },
          ...(inShort.value?.groupName && groupId !== null
            ? [{ href: `/groups/${groupId}`, title: inShort.value.groupName }]
            : []),
        ]}
      />
      <Shown of={check} what="the check">
        {(value) => (
          <>
            <Head check={value} inShort={inShort.value ?? null}>
              <Actions check={value} reload={check.reload} />
            </Head>
            <ActiveRuns checkId={id} />
            <Tabs label="Parts of the check" tabs={tabs} />
            {tab === 'overview' && <Overview check={value} inShort={inShort.value ?? null} />}
            {tab === 'runs' && <Runs check={value} />}
            {tab === 'errors' && <ErrorGroups checkId={id} />}
            {tab === 'alerts' && <SentAlerts checkId={id} />}
            {tab === 'settings' && <Settings check={value} />}
          </>
        )}
      </Shown>
      {check.value === undefined && check.error !== undefined && <h1>Check</h1>}
    </>
  );
}
