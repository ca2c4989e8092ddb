import { useRef } from 'preact/hooks';
import { getList, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { plain, text } from '../base/outside.ts';
import { Empty, Shown } from '../parts/notice.tsx';
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
  readonly created_at: string;
};
const limit = 50;
const days = 30;

const words: { readonly [type: string]: string } = {
  ALERT_FAILURE: 'Failed',
  ALERT_DEGRADED: 'Degraded',
  ALERT_RECOVERY: 'Recovered',
  ALERT_DEGRADED_RECOVERY: 'Recovered',
  ALERT_FAILURE_REMAIN: 'Still failing',
  ALERT_DEGRADED_REMAIN: 'Still degraded',
  ALERT_DEGRADED_FAILURE: 'Degraded, now failing',
  ALERT_FAILURE_DEGRADED: 'Failing, now degraded',
  ALERT_SSL: 'Certificate ends soon',
};
const delivery: { readonly [status: string]: readonly [string, string] } = {
  SUCCESS: ['passed', 'delivered'],
  FAILURE: ['failed', 'not delivered'],
  IN_PROGRESS: ['waiting', 'being sent'],
  RATE_LIMITED: ['degraded', 'held back'],
  SUPERSEDED: ['cancelled', 'superseded'],
};

/** Alerts of the last 30 days with their channels and deliveries. */
export function SentAlerts({ checkId }: { checkId: string }) {
  const wanted = usePlace().query.get('alert');
  // The alert that the address names gets the focus, but only when it appears.
  const focused = useRef<string | null>(null);
  const focusOnce = (element: HTMLElement | null) => {
    if (element === null || focused.current === wanted) return;
    focused.current = wanted;
    element.focus();
  };
  const from = Math.floor(Date.now() / 60_000) * 60 - days * 86_400;
  const alerts = useLoad(`alerts ${checkId}`, async (signal) => {
    const [raised, sent] = await Promise.all([
      getList<Alert>(withQuery(`/v1/check-alerts/${checkId}`, { limit, from }), signal),
      getList<Sent>(withQuery('/v1/alert-notifications', { limit: 100, checkId }), signal),
    ]);
    return { raised: raised.entries, sent: sent.entries };
  });
  useReloadOn(['alert'], alerts.reload, { checkId });
  return (
    <Shown of={alerts} what="the alerts">
      {({ raised, sent }) =>
        raised.length === 0 ? (
          <div class="card">
            <Empty title={`No alerts in ${days} days.`}>
              <a href="/alerts">All alerts and channels</a>
            </Empty>
          </div>
        ) : (
          <section class="card" aria-label="Alerts">
            <h2>Alerts of the last {days} days</h2>
            <ul class="tests">
              {raised.map((alert) => {
                const own = sent.filter(({ alertId }) => alertId === alert.id);
                return (
                  <li
                    key={alert.id}
                    id={`alert-${alert.id}`}
                    tabIndex={-1}
                    aria-current={alert.id === wanted ? 'true' : undefined}
                    ref={alert.id === wanted ? focusOnce : null}
                  >
                    <div class="test-line">
                      <b>{words[alert.alertType] ?? alert.alertType}</b>
                      <Moment at={alert.created_at} />
                      <span class="soft">
                        {alert.runLocation ?? ''}
                        {alert.isReminder && ' reminder'}
                      </span>
                    </div>
                    {alert.error !== null && <p class="break">{plain(alert.error)}</p>}
                    {own.length === 0 ? (
                      <p class="soft">No channel was notified.</p>
                    ) : (
                      <ul class="steps">
                        {own.map(({ id, type, status, attempts, notificationResult }) => (
                          <li key={id}>
                            {type.toLowerCase().replaceAll('_', ' ')}{' '}
                            <Status
                              status={delivery[status]?.[0] ?? 'waiting'}
                              word={delivery[status]?.[1] ?? status}
                            />{' '}
                            {attempts > 1 && <span class="soft">{attempts} tries</span>}{' '}
                            <span class="soft break">{text(notificationResult ?? '', 500)}</span>
                          </li>
                        ))}
                      </ul>
                    )}
                  </li>
                );
              })}
            </ul>
          </section>
        )
      }
    </Shown>
  );
}
