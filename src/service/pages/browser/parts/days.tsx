/** Days at a glance: a tile per day (UTC), which chooses its day. */

export type DayTile = {
  /** Class of its colour: passed, degraded, failed or none. */
  readonly colour: string;
  /** What the tile shows below its date. */
  readonly figure: string;
  /** The same for screen readers, and under the pointer. */
  readonly text: string;
};

const dayMs = 86_400_000;
const dateWord = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** The last `days` days up to today: milliseconds since the epoch, `to` not included. */
export function lastDays(days: number): { from: number; to: number } {
  const to = (Math.floor(Date.now() / dayMs) + 1) * dayMs;
  return { from: to - days * dayMs, to };
}

/** Shows the days of a time. `tileOf` gets a day as `2026-03-01`. */
export function Days({
  from,
  to,
  chosen,
  tileOf,
  onChoose,
}: {
  from: number;
  to: number;
  chosen: string | null;
  tileOf: (day: string) => DayTile;
  onChoose: (day: string) => void;
}) {
  return (
    <div class="days">
      {Array.from({ length: Math.round((to - from) / dayMs) }, (_, at) => {
        const time = from + at * dayMs;
        const day = new Date(time).toISOString().slice(0, 10);
        const { colour, figure, text } = tileOf(day);
        return (
          <button
            key={day}
            type="button"
            class={`day ${colour}`}
            aria-pressed={chosen === day}
            title={text}
            onClick={() => onChoose(day)}
          >
            <span class="day-date">{dateWord.format(time)}</span>
            <span class="hidden-text">: {text}</span>
            <b aria-hidden="true">{figure}</b>
          </button>
        );
      })}
    </div>
  );
}
