import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { text } from '../base/outside.ts';
import { Copy } from '../parts/copy.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, moment } from '../parts/time.tsx';
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
const limit = 100;

/** The URL to ping, and the pings on a timeline. */
export function Heartbeat({ check }: { check: Check }) {
  const { heartbeat } = check;
  const pings = useLoad(`pings ${check.id}`, (signal) =>
    get<{ events: Ping[] }>(withQuery(`/v1/checks/heartbeats/${check.id}/events`, { limit }), signal),
  );
  useReloadOn(['run', 'state'], pings.reload, { checkId: check.id });
  return (
    <section class="card" aria-label="Pings">
      <h2>Pings</h2>
      {heartbeat?.pingUrl !== undefined && <Copy text={heartbeat.pingUrl} label="URL to ping" />}
      {heartbeat?.period !== undefined && (
        <p class="soft">
          Expected every {heartbeat.period} {heartbeat.periodUnit}, with {heartbeat.grace ?? 0}{' '}
          {heartbeat.graceUnit} of grace.
        </p>
      )}
      <Shown of={pings} what="the pings">
        {({ events }) =>
          events.length === 0 ? (
            <Empty title="No ping yet.">Call the URL at the end of your job.</Empty>
          ) : (
            <>
              <PingLine pings={events} />
              <ul class="tests">
                {events.slice(0, 20).map(({ id, state, timestamp, source }) => (
                  <li key={id} class="test-line">
                    <Status status={states[state]?.[0] ?? 'waiting'} word={states[state]?.[1] ?? state} />
                    <Ago at={timestamp} />
                    <span class="soft break">{text(source, 200)}</span>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** Each ping is a line at its moment, from the oldest to now. */
function PingLine({ pings }: { pings: readonly Ping[] }) {
  const times = pings.map(({ timestamp }) => Date.parse(timestamp));
  const from = Math.min(...times);
  const width = Math.max(1, Date.now() - from);
  const missing = pings.filter(({ state }) => state === 'FAILING' || state === 'LATE').length;
  return (
    <svg
      class="pings"
      viewBox="0 0 1000 30"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${pings.length} events since ${moment(from)}, ${missing} of them late or missing`}
    >
      {pings.map(({ id, timestamp, state }) => (
        <rect
          key={id}
          class={states[state]?.[0] ?? 'idle'}
          x={((Date.parse(timestamp) - from) / width) * 994}
          y="0"
          width="4"
          height="30"
        >
          <title>{`${states[state]?.[1] ?? state}, ${moment(timestamp)}`}</title>
        </rect>
      ))}
    </svg>
  );
}
