import { useEffect, useMemo, useRef } from 'preact/hooks';
import { setQuery, usePlace } from '../base/router.ts';

/** A month at a glance. The month and the chosen day are part of the address (`?month=2026-03&day=2026-03-04`). */

export type Entry = {
  readonly id: string;
  readonly title: string;
  readonly href: string;
  /** In ISO format; `to` null = it has not ended. */
  readonly from: string;
  readonly to: string | null;
  /** A class of a status: passed, degraded, failed, errored or idle. */
  readonly colour: string;
  /** What is said about it in the list of a day. */
  readonly text: string;
};

const two = (number: number) => String(number).padStart(2, '0');
const nameOf = (day: Date) => `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
const monthOf = (text: string | null): Date => {
  const [, year, month] = /^(\d{4})-(\d{2})$/.exec(text ?? '') ?? [];
  const now = new Date();
  const at = new Date(Number(year), Number(month) - 1, 1);
  return year === undefined || Number(month) < 1 || Number(month) > 12
    ? new Date(now.getFullYear(), now.getMonth(), 1)
    : at;
};
const monthName = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' });
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const weekdayName = new Intl.DateTimeFormat(undefined, { weekday: 'short' });
const moved = (day: Date, days: number) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + days);

/** The days that the month of the address shows: whole weeks from Monday. `to` is after the last one. */
export function useShownMonth(): { from: Date; to: Date; month: Date } {
  const { query } = usePlace();
  const text = query.get('month');
  return useMemo(() => {
    const month = monthOf(text);
    const from = moved(month, -((month.getDay() + 6) % 7));
    return { month, from, to: moved(from, 42) };
  }, [text]);
}

export function Month({ label, what, entries }: { label: string; what: string; entries: readonly Entry[] }) {
  const { month, from } = useShownMonth();
  const { query } = usePlace();
  const grid = useRef<HTMLTableElement>(null);
  const wantsFocus = useRef(false);
  const today = nameOf(new Date());
  const days = Array.from({ length: 42 }, (_, at) => moved(from, at));
  const inMonth = (day: Date) => day.getMonth() === month.getMonth();
  const asked = query.get('day');
  const fallback = days.find((day) => inMonth(day) && nameOf(day) === today) ?? month;
  const chosen = days.find((day) => nameOf(day) === asked) ?? fallback;
  const of = (day: Date) => {
    const end = moved(day, 1).getTime();
    return entries.filter(
      (entry) =>
        Date.parse(entry.from) < end &&
        (entry.to === null ? Date.now() : Date.parse(entry.to)) > day.getTime(),
    );
  };
  const choose = (day: Date) => setQuery({ month: nameOf(day).slice(0, 7), day: nameOf(day) });
  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    grid.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  });
  const steps: { readonly [key: string]: (day: Date) => Date } = {
    ArrowLeft: (day) => moved(day, -1),
    ArrowRight: (day) => moved(day, 1),
    ArrowUp: (day) => moved(day, -7),
    ArrowDown: (day) => moved(day, 7),
    PageUp: (day) => new Date(day.getFullYear(), day.getMonth() - 1, 1),
    PageDown: (day) => new Date(day.getFullYear(), day.getMonth() + 1, 1),
  };
  const turn = (by: number) => {
    const to = new Date(month.getFullYear(), month.getMonth() + by, 1);
    setQuery({ month: nameOf(to).slice(0, 7), day: null });
  };
  return (
    <section class="card" aria-label={label}>
      <div class="month-head">
        <h2 aria-live="polite">{monthName.format(month)}</h2>
        <div class="buttons">
          <button type="button" aria-label="Previous month" onClick={() => turn(-1)}>
            ‹
          </button>
          <button type="button" onClick={() => setQuery({ month: null, day: null })}>
            Today
          </button>
          <button type="button" aria-label="Next month" onClick={() => turn(1)}>
            ›
          </button>
        </div>
      </div>
      <table ref={grid} class="month">
        <caption class="hidden-text">{label}. Arrow keys move between days.</caption>
        <thead>
          <tr>
            {days.slice(0, 7).map((day) => (
              <th key={day.getDay()} scope="col">
                {weekdayName.format(day)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {[0, 1, 2, 3, 4, 5].map((week) => (
            <tr key={week}>
              {days.slice(week * 7, week * 7 + 7).map((day) => {
                const found = of(day);
                const isChosen = nameOf(day) === nameOf(chosen);
                return (
                  <td key={nameOf(day)} class={inMonth(day) ? '' : 'other'}>
                    <button
                      type="button"
                      class={isChosen ? 'day chosen' : 'day'}
                      tabIndex={isChosen ? 0 : -1}
                      aria-pressed={isChosen}
                      aria-current={nameOf(day) === today ? 'date' : undefined}
                      onClick={() => choose(day)}
                      onKeyDown={(event) => {
                        const step = steps[event.key];
                        if (step === undefined) return;
                        event.preventDefault();
                        wantsFocus.current = true;
                        choose(step(day));
                      }}
                    >
                      <span class="hidden-text">
                        {dayName.format(day)}:{' '}
                        {found.length === 0 ? `no ${what}` : found.map(({ title }) => title).join(', ')}
                      </span>
                      <span class="day-number" aria-hidden="true">
                        {day.getDate()}
                      </span>
                      {found.slice(0, 3).map((entry) => (
                        <span key={entry.id} class={`day-entry ${entry.colour}`} aria-hidden="true">
                          <span>{entry.title}</span>
                        </span>
                      ))}
                      {found.length > 3 && (
                        <span class="day-more" aria-hidden="true">
                          +{found.length - 3}
                        </span>
                      )}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <h3>{dayName.format(chosen)}</h3>
      {of(chosen).length === 0 ? (
        <p class="soft">No {what} on this day.</p>
      ) : (
        <ul class="day-list">
          {of(chosen).map((entry) => (
            <li key={entry.id}>
              <a href={entry.href}>{entry.title}</a> <span class="soft">{entry.text}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
