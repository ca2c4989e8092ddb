import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get, withQuery } from '../base/service.ts';
import { CheckSearch, useCheckNames } from '../parts/check-search.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf } from '../parts/paging.tsx';
import { Status } from '../parts/status.tsx';
import { Moment } from '../parts/time.tsx';
import { Month } from './month.tsx';
import { MorePages } from './more.tsx';
import { checkAlertTypes, locationAlertTypes, wordOf, type Alert } from './types.ts';

/** Alerts of checks, or of locations, with their filters in the address. */

const limit = 50;
const ranges = [
  { id: '', title: 'All times', days: null },
  { id: '24h', title: 'Last 24 h', days: 1 },
  { id: '7d', title: 'Last 7 days', days: 7 },
  { id: '30d', title: 'Last 30 days', days: 30 },
] as const;
const daySeconds = 86_400;

/** The time that the address names; a day wins over a range. Seconds since the epoch. */
function timesOf(query: URLSearchParams): { from?: number; to?: number } {
  const day = query.get('day');
  if (day !== null && /^\d{4}-\d\d-\d\d$/.test(day)) {
    const from = Date.parse(`${day}T00:00:00Z`) / 1000;
    if (!Number.isNaN(from)) return { from, to: from + daySeconds - 0.001 };
  }
  const range = ranges.find(({ id }) => id === query.get('range'));
  return range?.days ? { from: Math.floor(Date.now() / 60_000) * 60 - range.days * daySeconds } : {};
}

export function AlertList() {
  const { query } = usePlace();
  const about = query.get('about') === 'locations' ? 'locations' : 'checks';
  const checkId = query.get('check') ?? '';
  const base =
    about === 'locations'
      ? '/v1/location-alerts'
      : checkId === ''
        ? '/v1/check-alerts'
        : `/v1/check-alerts/${encodeURIComponent(checkId)}`;
  const types = about === 'locations' ? locationAlertTypes : checkAlertTypes;
  const given = query.get('type') ?? '';
  const alertType = types.includes(given) ? given : '';
  const path = withQuery(base, { limit, page: pageOf(query), alertType, ...timesOf(query) });
  const loaded = useLoad(path, (signal) => get<Alert[]>(path, signal), { keep: true });
  useReloadOn(['alert'], loaded.reload, { everyMs: 2000 });
  const filter = (change: { [name: string]: string | null }) => setQuery({ ...change, page: null });
  return (
    <>
      <Month />
      <div class="filters" role="group" aria-label="Filters">
        <label>
          About{' '}
          <select
            value={about}
            onChange={({ currentTarget: { value } }) =>
              filter({ about: value === 'checks' ? null : value, check: null, type: null })
            }
          >
            <option value="checks">checks</option>
            <option value="locations">locations</option>
          </select>
        </label>
        {about === 'checks' && <CheckFilter chosen={checkId} onChange={(check) => filter({ check })} />}
        <label>
          Type{' '}
          <select value={alertType} onChange={({ currentTarget: { value } }) => filter({ type: value })}>
            <option value="">all types</option>
            {types.map((type) => (
              <option key={type} value={type}>
                {wordOf(type).word}
              </option>
            ))}
          </select>
        </label>
        <label>
          Time{' '}
          <select
            value={query.get('range') ?? ''}
            onChange={({ currentTarget: { value } }) => filter({ range: value, day: null })}
          >
            {ranges.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {query.get('day') !== null && (
          <button type="button" onClick={() => filter({ day: null })}>
            {query.get('day')} (UTC) ×<span class="hidden-text"> show all days</span>
          </button>
        )}
      </div>
      <Shown of={loaded} what="alerts">
        {(alerts) =>
          alerts.length === 0 ? (
            <div class="card">
              <Empty title="No alerts">No alert matches these filters.</Empty>
            </div>
          ) : (
            <>
              <div class="card flush">
                <Table alerts={alerts} />
              </div>
              <MorePages hasMore={alerts.length === limit} />
            </>
          )
        }
      </Shown>
    </>
  );
}

function Table({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <table class="stacked alerts-table" aria-label="Alerts">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Alert</th>
          <th scope="col">About</th>
          <th scope="col">Details</th>
          <th scope="col">Notifications</th>
        </tr>
      </thead>
      <tbody>
        {alerts.map((alert) => {
          const { status, word } = wordOf(alert.alertType);
          return (
            <tr key={alert.id}>
              <td data-title="Time">
                <Moment at={alert.created_at} />
              </td>
              <td data-title="Alert">
                <Status status={status} word={word} />
                {alert.isReminder === true && <div class="soft">reminder</div>}
                {alert.isLate === true && <div class="soft">late</div>}
              </td>
              <td data-title="About">
                {alert.checkId === undefined ? (
                  <a href={`/locations/${alert.locationId}`}>{alert.name}</a>
                ) : (
                  <a href={`/checks/${alert.checkId}`}>{alert.name}</a>
                )}
                {alert.runLocation && <div class="soft">{alert.runLocation}</div>}
              </td>
              <td data-title="Details">
                {alert.error ?? (alert.statusCode ? `status ${alert.statusCode}` : '–')}
              </td>
              <td data-title="Notifications">
                <a href={`/alerts?tab=notifications&alert=${alert.id}`}>Deliveries</a>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** A search for a check; the chosen one is shown, and can be removed. */
function CheckFilter({ chosen, onChange }: { chosen: string; onChange: (id: string | null) => void }) {
  const { nameOf, learn } = useCheckNames(chosen === '' ? [] : [chosen]);
  if (chosen !== '')
    return (
      <button type="button" onClick={() => onChange(null)}>
        {nameOf(chosen)} ×<span class="hidden-text"> show all checks</span>
      </button>
    );
  return (
    <CheckSearch
      label="Check"
      placeholder="All checks: search"
      onChoose={(check) => {
        learn(check);
        onChange(check.id);
      }}
    />
  );
}
