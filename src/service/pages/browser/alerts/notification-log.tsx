import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get, getAll, send, withQuery } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { sayDone, sayFailed } from '../parts/messages.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf } from '../parts/paging.tsx';
import { Status } from '../parts/status.tsx';
import { Moment } from '../parts/time.tsx';
import { MorePages } from './more.tsx';
import { nameOf, wordOf, type Channel, type Notification } from './types.ts';

/** What became of each notification, with the receiver's answer and a retry. */

const path = '/v1/alert-notifications';
const limit = 50;
const states: { readonly [S in Notification['status']]: { readonly status: string; readonly word: string } } =
  {
    IN_PROGRESS: { status: 'running', word: 'in progress' },
    SUCCESS: { status: 'passed', word: 'delivered' },
    FAILURE: { status: 'failed', word: 'not delivered' },
    RATE_LIMITED: { status: 'degraded', word: 'rate limited' },
    SUPERSEDED: { status: 'missed', word: 'replaced by a newer one' },
  };

export function NotificationLog() {
  const { query } = usePlace();
  const mayWrite = useMay('READ_WRITE');
  const channels = useLoad('channels', (signal) => getAll<Channel>('/v1/alert-channels', signal));
  const [alertId, channelId, status] = ['alert', 'channel', 'status'].map((name) => query.get(name) ?? '');
  const full = withQuery(path, { limit, page: pageOf(query), alertId, alertChannelId: channelId, status });
  const loaded = useLoad(full, (signal) => get<Notification[]>(full, signal), { keep: true });
  const { reload } = loaded;
  useReloadOn(['notification'], reload);
  const retry = async (id: string) => {
    try {
      const retried = await send<Notification>('POST', `${path}/${id}/retry`, {});
      loaded.set((all) => all.map((one) => (one.id === id ? retried : one)));
      sayDone('The notification is sent again');
    } catch (error) {
      sayFailed(error);
      reload();
    }
  };
  const titleOf = (id: number, type: string) => {
    const channel = channels.value?.find((one) => one.id === id);
    return channel === undefined ? `${type} ${id}` : nameOf(channel);
  };
  const filter = (change: { [name: string]: string | null }) => setQuery({ ...change, page: null });
  return (
    <>
      <div class="filters" role="group" aria-label="Filters">
        <label>
          Channel{' '}
          <select value={channelId} onChange={({ currentTarget: { value } }) => filter({ channel: value })}>
            <option value="">all channels</option>
            {channelId !== '' && !(channels.value ?? []).some(({ id }) => String(id) === channelId) && (
              <option value={channelId}>channel {channelId}</option>
            )}
            {(channels.value ?? []).map((channel) => (
              <option key={channel.id} value={String(channel.id)}>
                {nameOf(channel)}
              </option>
            ))}
          </select>
        </label>
        <label>
          State{' '}
          <select value={status} onChange={({ currentTarget: { value } }) => filter({ status: value })}>
            <option value="">all states</option>
            {Object.entries(states).map(([state, { word }]) => (
              <option key={state} value={state}>
                {word}
              </option>
            ))}
          </select>
        </label>
        {alertId !== '' && (
          <button type="button" onClick={() => filter({ alert: null })}>
            of one alert ×<span class="hidden-text"> show all alerts</span>
          </button>
        )}
      </div>
      <Shown of={loaded} what="notifications">
        {(all) =>
          all.length === 0 ? (
            <div class="card">
              <Empty title="No notifications">
                Alerts of subscribed checks appear here with their delivery.
              </Empty>
            </div>
          ) : (
            <>
              <div class="card flush">
                <table class="stacked" aria-label="Notifications">
                  <thead>
                    <tr>
                      <th scope="col">Last try</th>
                      <th scope="col">Delivery</th>
                      <th scope="col">Channel</th>
                      <th scope="col">Alert</th>
                      <th scope="col">Answer</th>
                    </tr>
                  </thead>
                  <tbody>
                    {all.map((one) => (
                      <tr key={one.id}>
                        <td data-title="Last try">
                          <Moment at={one.timestamp} />
                        </td>
                        <td data-title="Delivery">
                          <Status {...states[one.status]} />
                          <div class="soft">
                            {one.attempts} {one.attempts === 1 ? 'try' : 'tries'}
                          </div>
                        </td>
                        <td data-title="Channel">{titleOf(one.alertChannelId, one.type)}</td>
                        <td data-title="Alert">
                          {one.alertId === null ? 'test message' : wordOf(one.alertType).word}
                          {one.checkId && (
                            <div>
                              <a href={`/checks/${one.checkId}`}>Check</a>
                            </div>
                          )}
                        </td>
                        <td data-title="Answer">
                          <code class="long">{one.notificationResult ?? '–'}</code>
                          {mayWrite && one.status !== 'SUCCESS' && one.status !== 'IN_PROGRESS' && (
                            <div>
                              <button type="button" onClick={() => void retry(one.id)}>
                                Send again
                              </button>
                            </div>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <MorePages hasMore={all.length === limit} />
            </>
          )
        }
      </Shown>
    </>
  );
}
