import { setQuery, usePlace } from '../base/router.ts';

/** The time that charts and lists show; it is part of the address: `?range=7d`, or `?from=…&to=…`. */

const presets = [
  { id: '1h', title: '1 h', ms: 3_600_000 },
  { id: '24h', title: '24 h', ms: 86_400_000 },
  { id: '7d', title: '7 d', ms: 7 * 86_400_000 },
  { id: '30d', title: '30 d', ms: 30 * 86_400_000 },
] as const;

/** Milliseconds since the epoch. `preset` is null for a time of its own. */
export type Range = { readonly from: number; readonly to: number; readonly preset: string | null };

const usual = presets[1];
const step = 60_000;

/** The time that an address names. A preset ends now, in whole minutes, so that the same address reads the same data. */
export function rangeOf(query: URLSearchParams, now = Date.now()): Range {
  const { from: start = '', to: finish = '' } = Object.fromEntries(query);
  const from = Date.parse(start);
  const to = Date.parse(finish);
  if (from >= 0 && from < to) return { from, to, preset: null };
  const { id, ms } = presets.find((one) => one.id === query.get('range')) ?? usual;
  const end = Math.ceil(now / step) * step;
  return { from: end - ms, to: end, preset: id };
}

/** Whether the address names a time. */
export function hasRange(query: URLSearchParams): boolean {
  const { range, from } = Object.fromEntries(query);
  return (range ?? from) !== undefined;
}

const iso = (time: number) => new Date(time).toISOString();

/** Shows another time. */
export function showRange(from: number, to: number): void {
  const end = Math.min(to, Date.now());
  if (end - from < step) return;
  setQuery({ from: iso(Math.max(from, 0)), to: iso(end), range: null, page: null }, { replace: false });
}

/** Presets, zoom by buttons, and two fields for any other time. With `withAll`, an address without a time means all times. */
export function RangePicker({ withAll = false }: { withAll?: boolean }) {
  const { query } = usePlace();
  const { from, to, preset } = rangeOf(query);
  const isAll = withAll && !hasRange(query);
  const width = to - from;
  const zoom = (factor: number) => {
    const middle = (from + to) / 2;
    showRange(middle - (width * factor) / 2, middle + (width * factor) / 2);
  };
  const move = (by: number) => showRange(from + width * by, to + width * by);
  return (
    <div class="range" role="group" aria-label="Time shown">
      {withAll && (
        <button
          type="button"
          aria-pressed={isAll}
          onClick={() => setQuery({ range: null, from: null, to: null, page: null }, { replace: false })}
        >
          All
        </button>
      )}
      {presets.map(({ id, title }) => (
        <button
          key={id}
          type="button"
          aria-pressed={!isAll && preset === id}
          onClick={() =>
            setQuery(
              { range: id === usual.id && !withAll ? null : id, from: null, to: null, page: null },
              { replace: false },
            )
          }
        >
          {title}
        </button>
      ))}
      <span class="range-zoom">
        <button type="button" aria-label="Earlier" onClick={() => move(-0.5)}>
          ‹
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(2)}>
          −
        </button>
        <button type="button" aria-label="Later" onClick={() => move(0.5)}>
          ›
        </button>
      </span>
      <label>
        <span class="hidden-text">From</span>
        <input
          type="datetime-local"
          value={local(from)}
          onChange={({ currentTarget: { value } }) => value && showRange(Date.parse(value), to)}
        />
      </label>
      <label>
        <span class="hidden-text">To</span>
        <input
          type="datetime-local"
          value={local(to)}
          onChange={({ currentTarget: { value } }) => value && showRange(from, Date.parse(value))}
        />
      </label>
    </div>
  );
}

/** The form that the field wants: local time without a zone. */
function local(time: number): string {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
