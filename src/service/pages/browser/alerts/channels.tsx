import { useState } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get, getList, withQuery } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf, Paging } from '../parts/paging.tsx';
import { ChannelForm } from './channel-form.tsx';
import { channelTypes } from './config-fields.tsx';
import { TestMessage } from './test-message.tsx';
import { nameOf, type Channel } from './types.ts';
import { removeEntry, RowButtons } from '../parts/removal.tsx';

/** The channels that get notifications. The open one is part of the address. */

const path = '/v1/alert-channels';
const limit = 50;
const open = (channel: string | null) => setQuery({ edit: channel, page: null }, { replace: false });

export function Channels() {
  const { query } = usePlace();
  const mayWrite = useMay('READ_WRITE');
  const edited = mayWrite ? query.get('edit') : null;
  return edited === null ? <List mayWrite={mayWrite} /> : <One key={edited} id={edited} />;
}

function One({ id }: { id: string }) {
  const [isNew] = useState(id === 'new');
  const own = `${path}/${encodeURIComponent(id)}`;
  const loaded = useLoad(isNew ? null : own, (signal) => get<Channel>(own, signal));
  const close = () => open(null);
  if (isNew) return <ChannelForm channel={null} onClose={close} />;
  return (
    <Shown of={loaded} what="the channel">
      {(channel) => <ChannelForm channel={channel} onClose={close} />}
    </Shown>
  );
}

function List({ mayWrite }: { mayWrite: boolean }) {
  const { query } = usePlace();
  const full = withQuery(path, { limit, page: pageOf(query) });
  const loaded = useLoad(full, (signal) => getList<Channel>(full, signal), { keep: true });
  const remove = async (channel: Channel) => {
    const text = 'It gets no more notifications, and its subscriptions are deleted.';
    if (await removeEntry({ path: `${path}/${channel.id}`, name: `the channel ${nameOf(channel)}`, text }))
      loaded.reload();
  };
  return (
    <>
      <div class="line tab-head">
        <p class="soft">Alerts of a check are sent to the channels to which it or its group is subscribed.</p>
        {mayWrite && (
          <button type="button" class="main" onClick={() => open('new')}>
            New channel
          </button>
        )}
      </div>
      <Shown of={loaded} what="channels">
        {({ entries, total }) =>
          entries.length === 0 ? (
            <div class="card">
              <Empty title="No alert channels yet">Without one, nobody is notified of a failure.</Empty>
            </div>
          ) : (
            <>
              {entries.map((channel) => (
                <Entry
                  key={channel.id}
                  channel={channel}
                  mayWrite={mayWrite}
                  onDelete={() => void remove(channel)}
                />
              ))}
              <Paging total={total ?? entries.length} limit={limit} />
            </>
          )
        }
      </Shown>
    </>
  );
}

function Entry({
  channel,
  mayWrite,
  onDelete,
}: {
  channel: Channel;
  mayWrite: boolean;
  onDelete: () => void;
}) {
  const name = nameOf(channel);
  const kinds = [
    channel.sendFailure ? 'failures' : '',
    channel.sendDegraded ? 'degraded' : '',
    channel.sendRecovery ? 'recoveries' : '',
    channel.sslExpiry ? `certificates ${channel.sslExpiryThreshold} days before they expire` : '',
  ].filter((kind) => kind !== '');
  const subscribed = channel.subscriptions.filter(({ activated }) => activated).length;
  return (
    <section class="card" aria-label={`Channel ${name}`}>
      <div class="line">
        <div>
          <h2 class="channel-name">{name}</h2>
          <span class="soft">{channelTypes[channel.type]?.title ?? channel.type}</span>
        </div>
        {mayWrite && <RowButtons name={name} onChange={() => open(String(channel.id))} onDelete={onDelete} />}
      </div>
      <p>
        Gets {kinds.join(', ') || 'nothing'}. {subscribed}
        {channel.isPartial ? ' or more' : ''} active{' '}
        {subscribed === 1 && !channel.isPartial ? 'subscription' : 'subscriptions'}
        {channel.autoSubscribe ? '; new checks are subscribed' : ''}.{' '}
        <a href={`/alerts?tab=notifications&channel=${channel.id}`}>Deliveries</a>
      </p>
      {mayWrite && <TestMessage channelId={channel.id} name={name} />}
    </section>
  );
}
