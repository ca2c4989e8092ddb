import { Button } from '../parts/button.tsx';
import { saveAs } from '../parts/copy.tsx';
import { useMemo, useState } from 'preact/hooks';
import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get, withQuery } from '../base/service.ts';
import { milliseconds, percent } from '../base/words.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { Month } from './month.tsx';
import { sorted, toCsv, type Report, type ReportSort } from './report.ts';

const ranges = [
  ['last24Hours', 'Last 24 hours'],
  ['last7Days', 'Last 7 days'],
  ['last30Days', 'Last 30 days'],
  ['thisWeek', 'This week'],
  ['thisMonth', 'This month'],
  ['lastWeek', 'Last week'],
  ['lastMonth', 'Last month'],
] as const;
const columns: readonly (readonly [ReportSort, string])[] = [
  ['name', 'Check'],
  ['successRatio', 'Availability'],
  ['avg', 'Average'],
  ['p95', 'p95'],
  ['p99', 'p99'],
];
const shownAtOnce = 200;

const isDay = (text: string | null): text is string =>
  text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

/** What the address says. Days are in UTC, as the service's named ranges are; the last day is part of the range. */
function readAddress(query: URLSearchParams) {
  const [first, last] = [query.get('first'), query.get('last')];
  const own = isDay(first) && isDay(last) ? { first, last } : null;
  const range = ranges.find(([name]) => name === query.get('range'))?.[0] ?? 'last30Days';
  const sort = columns.find(([name]) => name === query.get('sort'))?.[0] ?? 'successRatio';
  const tag = query.get('tag') ?? '';
  return { own, range, sort, isDown: query.get('order') === 'desc', tag };
}

/** Availability and response times of all checks over a range. */
export function Page() {
  const { query } = usePlace();
  const { own, range, sort, isDown, tag } = readAddress(query);
  const path = withQuery('/v1/reporting', {
    ...(own === null
      ? { presetWindow: range }
      : { from: Date.parse(own.first) / 1000, to: Date.parse(own.last) / 1000 + 86_400 }),
    filterByTags: tag,
  });
  const report = useLoad(path, (signal) => get<Report[]>(path, signal), { keep: true });
  // A report of many checks is expensive, and a run more changes little.
  useReloadOn(['run', 'check'], report.reload, { everyMs: 60_000 });
  const rows = useMemo(() => sorted(report.value ?? [], sort, isDown), [report.value, sort, isDown]);
  return (
    <>
      <header class="page-head">
        <h1>Reports</h1>
        <div class="buttons">
          <Button
            isOff={rows.length === 0}
            onClick={() => saveAs(toCsv(rows), { name: 'report.csv', type: 'text/csv' })}
          >
            Download as CSV
          </Button>
        </div>
      </header>
      <Month tag={tag} chosen={own !== null && own.first === own.last ? own.first : null} />
      <Range own={own} range={range} tag={tag} />
      <Shown of={report} what="the report">
        {() => <Table rows={rows} sort={sort} isDown={isDown} isBusy={report.isLoading} />}
      </Shown>
    </>
  );
}

function Range({
  own,
  range,
  tag,
}: {
  own: { first: string; last: string } | null;
  range: string;
  tag: string;
}) {
  const today = new Date().toISOString().slice(0, 10);
  return (
    <div class="filters" role="search" aria-label="Range of the report">
      <select
        aria-label="Range"
        value={own === null ? range : 'own'}
        onChange={({ currentTarget: { value } }) =>
          setQuery(
            value === 'own' ? { first: today, last: today } : { range: value, first: null, last: null },
          )
        }
      >
        {ranges.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
        <option value="own">Own range</option>
      </select>
      {own !== null &&
        (['first', 'last'] as const).map((name) => (
          <input
            key={name}
            type="date"
            aria-label={name === 'first' ? 'First day (UTC)' : 'Last day (UTC)'}
            value={own[name]}
            max={today}
            onChange={({ currentTarget: { value } }) => value !== '' && setQuery({ [name]: value })}
          />
        ))}
      <input
        type="search"
        aria-label="Tag"
        placeholder="Only this tag"
        value={tag}
        maxLength={255}
        onChange={({ currentTarget: { value } }) => setQuery({ tag: value.trim() })}
      />
    </div>
  );
}

function Table({
  rows,
  sort,
  isDown,
  isBusy,
}: {
  rows: readonly Report[];
  sort: ReportSort;
  isDown: boolean;
  isBusy: boolean;
}) {
  const [limit, setLimit] = useState(shownAtOnce);
  if (rows.length === 0)
    return (
      <div class="card">
        <Empty title="No check matches" />
      </div>
    );
  const turn = (name: ReportSort) =>
    setQuery({
      sort: name === 'successRatio' ? null : name,
      order: (name === sort ? !isDown : name !== 'name' && name !== 'successRatio') ? 'desc' : null,
    });
  return (
    <>
      <div class="card flush">
        <table aria-label="Report" aria-busy={isBusy}>
          <thead>
            <tr>
              {columns.map(([name, title]) => (
                <th
                  key={name}
                  scope="col"
                  aria-sort={name === sort ? (isDown ? 'descending' : 'ascending') : undefined}
                >
                  <button type="button" class="plain" onClick={() => turn(name)}>
                    {title}
                    <span aria-hidden="true">{name === sort ? (isDown ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map(({ checkId, name, deactivated, aggregate }) => (
              <tr key={checkId}>
                <td class="any-break">
                  <a href={`/checks/${checkId}`}>{name}</a>
                  {deactivated && <span class="word">paused</span>}
                </td>
                <td>{percent(aggregate.successRatio)}</td>
                <td>{milliseconds(aggregate.avg)}</td>
                <td>{milliseconds(aggregate.p95)}</td>
                <td>{milliseconds(aggregate.p99)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > limit && (
        <div class="paging">
          <span>
            {limit} of {rows.length} checks
          </span>
          <button type="button" onClick={() => setLimit(limit + shownAtOnce)}>
            Show more
          </button>
        </div>
      )}
    </>
  );
}
