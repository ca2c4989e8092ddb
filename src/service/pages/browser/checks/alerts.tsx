import { useEffect, useRef } from 'preact/hooks';
import { MorePages } from '../alerts/more.tsx';
import { checkAlertTypes, wordOf } from '../alerts/types.ts';
import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { plain, text } from '../base/outside.ts';
import { hasRange, RangePicker, rangeOf } from '../charts/range.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf } from '../parts/paging.tsx';
import { Status } from '../parts/status.tsx';
import { Moment } from '../parts/time.tsx';

type Sent = {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly alertId: string | null;
  readonly attempts: number;
  readonly notificationResult: string | null;
};
type Alert = {
  readonly id: string;
  readonly alertType: string;
  readonly runLocation: string | null;
  readonly error: string | null;
  readonly isReminder: boolean;
  readonly isLate: boolean;
  readonly created_at: string;
};
const limit = 50;

const delivery: { readonly [status: string]: readonly [string, string] } = {
  SUCCESS: ['passed', 'delivered'],
  FAILURE: ['failed', 'not delivered'],
  IN_PROGRESS: ['waiting', 'being sent'],
  RATE_LIMITED: ['degraded', 'held back'],
  SUPERSEDED: ['cancelled', 'superseded'],
};

const sentPages = 10;
const sentLimit = 100;
/** Notifications are made with their alert. */
const soonSeconds = 60;

async function sentBetween(
  checkId: string,
  { oldest, newest }: { oldest: Alert; newest: Alert },
  signal: AbortSignal,
): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (let page = 1; page <= sentPages; page += 1) {
    const path = withQuery('/v1/alert-notifications', {
      checkId,
      limit: sentLimit,
      page,
      from: Math.floor(Date.parse(oldest.created_at) / 1000),
      to: Math.ceil(Date.parse(newest.created_at) / 1000) + soonSeconds,
    });
    const some = await get<Sent[]>(path, signal);
    sent.push(...some);
    if (some.length < sentLimit) break;
  }
  return sent;
}

async function readAlerts(checkId: string, query: URLSearchParams, signal: AbortSignal) {
  const range = hasRange(query) ? rangeOf(query) : null;
  const path = withQuery(`/v1/check-alerts/${checkId}`, {
    limit,
    page: pageOf(query),
    alertType: query.get('type'),
    from: range === null ? undefined : Math.floor(range.from / 1000),
    to: range === null ? undefined : Math.ceil(range.to / 1000),
  });
  const raised = await get<Alert[]>(path, signal);
  const [newest, oldest] = [raised[0], raised.at(-1)];
  if (newest === undefined || oldest === undefined) return { raised, sent: [] };
  return { raised, sent: await sentBetween(checkId, { oldest, newest }, signal) };
}

/** Alerts of a check with their channels and deliveries; filters and the page are part of the address. */
export function SentAlerts({ checkId }: { checkId: string }) {
  const { query } = usePlace();
  const wanted = query.get('alert');
  const type = query.get('type') ?? '';
  const range = hasRange(query) ? rangeOf(query) : null;
  const key = `alerts ${checkId} ${type} ${pageOf(query)} ${range?.preset ?? `${range?.from} ${range?.to}`}`;
  const alerts = useLoad(key, (signal) => readAlerts(checkId, query, signal), { keep: true });
  useReloadOn(['alert', 'notification'], alerts.reload, { checkId });
  return (
    <>
      <div class="filters">
        <label>
          Type{' '}
          <select
            value={type}
            onChange={({ currentTarget: { value } }) => setQuery({ type: value, page: null })}
          >
            <option value="">all types</option>
            {checkAlertTypes.map((one) => (
              <option key={one} value={one}>
                {wordOf(one).word}
              </option>
            ))}
          </select>
        </label>
      </div>
      <RangePicker withAll />
      <Shown of={alerts} what="the alerts">
        {({ raised, sent }) =>
          raised.length === 0 ? (
            <div class="card">
              <Empty
                title={
                  type === '' && range === null && pageOf(query) === 1
                    ? 'No alerts yet.'
                    : 'No alert matches.'
                }
              >
                <a href="/alerts">All alerts and channels</a>
              </Empty>
            </div>
          ) : (
            <section class="card" aria-label="Alerts">
              <ul class="tests">
                {raised.map((alert) => (
                  <OneAlert
                    key={alert.id}
                    alert={alert}
                    sent={sent.filter(({ alertId }) => alertId === alert.id)}
                    isWanted={alert.id === wanted}
                  />
                ))}
              </ul>
            </section>
          )
        }
      </Shown>
      <MorePages hasMore={alerts.value?.raised.length === limit} />
    </>
  );
}

function OneAlert({ alert, sent, isWanted }: { alert: Alert; sent: readonly Sent[]; isWanted: boolean }) {
  const element = useRef<HTMLLIElement>(null);
  // The alert that the address names gets the focus when it appears.
  useEffect(() => {
    if (isWanted) element.current?.focus();
  }, [isWanted]);
  const { status, word } = wordOf(alert.alertType);
  return (
    <li ref={element} id={`alert-${alert.id}`} tabIndex={-1} aria-current={isWanted ? 'true' : undefined}>
      <div class="test-line">
        <Status status={status} word={word} />
        <Moment at={alert.created_at} />
        <span class="soft">
          {alert.runLocation ?? ''}
          {alert.isReminder && ' reminder'}
          {alert.isLate && ' late'}
        </span>
      </div>
      {alert.error !== null && <p class="break">{plain(alert.error)}</p>}
      {sent.length === 0 ? (
        <p class="soft">No channel was notified.</p>
      ) : (
        <ul class="steps">
          {sent.map(({ id, type, status: state, attempts, notificationResult }) => (
            <li key={id}>
              {type.toLowerCase().replaceAll('_', ' ')}{' '}
              <Status status={delivery[state]?.[0] ?? 'waiting'} word={delivery[state]?.[1] ?? state} />{' '}
              {attempts > 1 && <span class="soft">{attempts} tries</span>}{' '}
              <span class="soft break">{text(notificationResult ?? '', 500)}</span>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
