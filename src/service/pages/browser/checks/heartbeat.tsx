import { useState } from 'preact/hooks';
import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { text } from '../base/outside.ts';
import { rangeOf, type Range } from '../charts/range.tsx';
import { Copy } from '../parts/copy.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Moment, moment } from '../parts/time.tsx';
import type { Check } from './types.ts';

type Ping = {
  readonly id: string;
  readonly state: string;
  readonly timestamp: string;
  readonly source: string;
};

const states: { readonly [state: string]: readonly [string, string] } = {
  RECEIVED: ['passed', 'in time'],
  EARLY: ['passed', 'early'],
  GRACE: ['degraded', 'in the grace time'],
  LATE: ['failed', 'late'],
  FAILING: ['failed', 'missing'],
};
const pageSize = 100;
/** Pings of a range that are drawn. */
const maxPings = 1000;
const shownAtOnce = 20;

/** "hour" of 1 and "hours", "3 hours" of 3. */
const countOf = (count: number, unit = '') => (count === 1 ? unit.replace(/s$/, '') : `${count} ${unit}`);

/** The URL to ping. */
export function PingUrl({ check: { heartbeat } }: { check: Check }) {
  return (
    <section class="card" aria-label="Ping URL">
      <h2>Ping URL</h2>
      {heartbeat?.pingUrl !== undefined && <Copy text={heartbeat.pingUrl} label="URL to ping" />}
      {heartbeat?.period !== undefined && (
        <p class="soft">
          Expected every {countOf(heartbeat.period, heartbeat.periodUnit)}, with {heartbeat.grace ?? 0}{' '}
          {heartbeat.graceUnit} of grace.
        </p>
      )}
    </section>
  );
}

async function pingsOf(checkId: string, range: Range, signal: AbortSignal) {
  const pings: Ping[] = [];
  const span = { from: Math.floor(range.from / 1000), to: Math.ceil(range.to / 1000) };
  for (let page = 1; pings.length < maxPings; page += 1) {
    const path = withQuery(`/v1/checks/heartbeats/${checkId}/events`, { limit: pageSize, page, ...span });
    const { events } = await get<{ events: Ping[] }>(path, signal);
    pings.push(...events);
    if (events.length < pageSize) return { pings, isPartial: false };
  }
  return { pings, isPartial: true };
}

/** The pings of the shown time on a timeline, and as a list. */
export function Pings({ checkId }: { checkId: string }) {
  const { query } = usePlace();
  const range = rangeOf(query);
  const [limit, setLimit] = useState(shownAtOnce);
  const key = `pings ${checkId} ${range.preset ?? `${range.from} ${range.to}`}`;
  const read = useLoad(key, (signal) => pingsOf(checkId, rangeOf(query), signal), { keep: true });
  useReloadOn(['run', 'state'], read.reload, { checkId });
  return (
    <section class="card" aria-label="Pings">
      <h2>Pings</h2>
      <Shown of={read} what="the pings">
        {({ pings, isPartial }) =>
          pings.length === 0 ? (
            <Empty title="No ping in this time.">Call the URL at the end of your job.</Empty>
          ) : (
            <>
              <PingLine pings={pings} range={range} />
              <p class="soft">
                {isPartial && `The newest ${pings.length} events. `}
                {summaryOf(pings)}
              </p>
              <ul class="tests">
                {pings.slice(0, limit).map(({ id, state, timestamp, source }) => (
                  <li key={id} class="test-line">
                    <Status status={states[state]?.[0] ?? 'waiting'} word={states[state]?.[1] ?? state} />
                    <Moment at={timestamp} />
                    <span class="soft break">{text(source, 200)}</span>
                  </li>
                ))}
              </ul>
              {pings.length > limit && (
                <button type="button" onClick={() => setLimit(limit + pageSize)}>
                  Show older pings
                </button>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** "97 in time, 2 late, 1 missing" */
function summaryOf(pings: readonly Ping[]): string {
  const counts = new Map<string, number>();
  for (const { state } of pings) {
    const word = states[state]?.[1] ?? state;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return `${[...counts].map(([word, count]) => `${count} ${word}`).join(', ')}.`;
}

/** Each ping is a line at its moment in the shown time. */
function PingLine({ pings, range: { from, to } }: { pings: readonly Ping[]; range: Range }) {
  const width = Math.max(1, to - from);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return (
    <figure class="ping-line">
      <svg
        class="pings"
        viewBox="0 0 1000 30"
        preserveAspectRatio="none"
        role="img"
        aria-label={`Pings from ${moment(from)} to ${moment(to)}: ${summaryOf(pings)}`}
      >
        {[...pings].reverse().map(({ id, timestamp, state }) => (
          <rect
            key={id}
            class={states[state]?.[0] ?? 'idle'}
            x={Math.max(0, Math.min(997, ((Date.parse(timestamp) - from) / width) * 997))}
            y="0"
            width="3"
            height="30"
          >
            <title>{`${states[state]?.[1] ?? state}, ${moment(timestamp)}`}</title>
          </rect>
        ))}
      </svg>
      <div class="line soft ping-ticks" aria-hidden="true">
        {ticks.map((part) => (
          <span key={part}>{tickOf(from + width * part, width)}</span>
        ))}
      </div>
    </figure>
  );
}

const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const days = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const tickOf = (time: number, width: number) =>
  (width <= 2 * 86_400_000 ? hours : days).format(new Date(time));
