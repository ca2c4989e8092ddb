import { useMemo, useState } from 'preact/hooks';
import { useReloadOn } from '../base/live.ts';
import { useLoad, type Loaded } from '../base/load.ts';
import type { PageProps } from '../base/page.ts';
import { usePlace } from '../base/router.ts';
import { get, send } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { Filters } from '../home/filters.tsx';
import { CheckList } from '../home/list.tsx';
import { useOverview } from '../home/overview.ts';
import { listPath, readQuery } from '../home/query.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { sayDone, sayFailed } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import type { Group } from './types.ts';
import { PageHead } from '../parts/page-head.tsx';
import { TriggerUrl } from '../parts/trigger.tsx';

/** One group: its checks and its settings. */
export function Page({ params: { id = '' } }: PageProps) {
  const path = `/v2/check-groups/${encodeURIComponent(id)}`;
  const group = useLoad(path, (signal) => get<Group>(path, signal));
  useReloadOn(['group'], group.reload);
  return (
    <Shown of={group} what="the group">
      {(value) => <Content group={value} loaded={group} />}
    </Shown>
  );
}

function Content({ group, loaded }: { group: Group; loaded: Loaded<Group> }) {
  const { query: address } = usePlace();
  const query = useMemo(() => ({ ...readQuery(address), groupId: [], isByGroup: false }), [address]);
  const list = useOverview(listPath(query, [String(group.id)]));
  return (
    <>
      <PageHead
        trail={[
          { href: '/', title: 'Checks' },
          { href: '/groups', title: 'Groups' },
        ]}
        title={group.name}
      >
        <Actions group={group} loaded={loaded} />
      </PageHead>
      <Settings group={group} />
      <GroupBadge group={group} />
      <TriggerUrl of="group" id={group.id} />
      <h2>Checks</h2>
      <Shown of={{ ...list, set: () => undefined }} what="checks">
        {(value) => (
          <>
            <Filters query={query} tags={value.tags} />
            <CheckList list={list} query={query} value={value} />
          </>
        )}
      </Shown>
    </>
  );
}

function Actions({ group, loaded }: { group: Group; loaded: Loaded<Group> }) {
  const mayRun = useMay('READ_RUN');
  const mayWrite = useMay('READ_WRITE');
  const [isBusy, setBusy] = useState(false);
  const work = async (action: () => Promise<void>) => {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      sayFailed(error);
    } finally {
      setBusy(false);
    }
  };
  const change = (body: Partial<Pick<Group, 'activated' | 'muted'>>, done: string) =>
    work(async () => {
      const changed = await send<Group>('PUT', `/v2/check-groups/${group.id}`, body);
      loaded.set(() => changed);
      sayDone(done);
    });
  const run = () =>
    work(async () => {
      const { sessions } = await send<{ sessions: unknown[] }>('POST', '/v2/check-sessions/trigger', {
        target: { groupId: group.id },
      });
      sayDone(sessions.length === 1 ? 'One check runs now.' : `${sessions.length} checks run now.`);
    });
  return (
    <div class="buttons">
      {mayRun && (
        <Button
          class="main"
          isOff={isBusy || !group.activated}
          title={group.activated ? undefined : 'The group is paused'}
          onClick={() => void run()}
        >
          Run all now
        </Button>
      )}
      {mayWrite && (
        <>
          <Button
            isOff={isBusy}
            onClick={() =>
              void change({ activated: !group.activated }, group.activated ? 'Paused.' : 'Resumed.')
            }
          >
            {group.activated ? 'Pause' : 'Resume'}
          </Button>
          <Button
            isOff={isBusy}
            onClick={() => void change({ muted: !group.muted }, group.muted ? 'Alerts are sent.' : 'Muted.')}
          >
            {group.muted ? 'Unmute' : 'Mute'}
          </Button>
          <a class="button" href={`/groups/${group.id}/edit`}>
            Edit
          </a>
        </>
      )}
    </div>
  );
}

function Settings({ group }: { group: Group }) {
  const places = [...group.locations, ...group.privateLocations];
  return (
    <section class="card" aria-label="Settings">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          {group.activated ? 'active' : 'paused'}
          {group.muted && ', muted'}
        </dd>
        <dt>Tags</dt>
        <dd>{group.tags.join(', ') || 'none'}</dd>
        <dt>Locations</dt>
        <dd>{places.join(', ') || 'those of each check'}</dd>
        <dt>Concurrency</dt>
        <dd>{group.concurrency} checks at a time when its trigger is called</dd>
        <dt>Variables</dt>
        <dd>{group.environmentVariables.map(({ key }) => key).join(', ') || 'none'}</dd>
        <dt>Alerts</dt>
        <dd>
          {group.useGlobalAlertSettings === null
            ? 'as each check says'
            : group.useGlobalAlertSettings
              ? 'the settings of the account'
              : 'settings of the group'}
        </dd>
      </dl>
    </section>
  );
}

/** The badge, whose address has a key of its own. It is read when someone looks for it. */
function GroupBadge({ group }: { group: Group }) {
  const [isOpen, setOpen] = useState(false);
  const path = `/v1/badges/groups/${group.id}/url`;
  const badge = useLoad(isOpen ? path : null, (signal) => get<{ url: string }>(path, signal));
  return (
    <details class="card" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Badge</summary>
      {isOpen && (
        <>
          <p class="hint">Everyone who has the address of the image sees the state of the group.</p>
          <Shown of={badge} what="the badge">
            {({ url }) => {
              const { pathname, search } = new URL(url);
              return <Badge name={group.name} image={pathname + search} link={`/groups/${group.id}`} />;
            }}
          </Shown>
        </>
      )}
    </details>
  );
}
