import type { LiveEvent } from '../base/live-event.ts';
import { states, type Counts, type Entry, type Overview, type State } from './types.ts';

/** Live events applied to the list, so that nothing needs to be read for a run. */

const hourMs = 3_600_000;
const counted = ['passed', 'degraded', 'failed', 'errored'] as const;

const replaced = <Value>(list: readonly Value[], at: number, by: Value): readonly Value[] =>
  list.map((value, place) => (place === at ? by : value));

/** The entry after a run; the same object if the run is too old to show. */
function afterRun(entry: Entry, { status, startedAt }: LiveEvent): Entry {
  if (typeof startedAt !== 'string' || (entry.lastRunAt !== null && startedAt <= entry.lastRunAt))
    return entry;
  const at = entry.bars.length - 1;
  const bar = entry.bars[at];
  const name = counted.find((one) => one === status);
  const since = bar === undefined ? -1 : Date.parse(startedAt) - Date.parse(bar.from);
  const isInBar = bar !== undefined && name !== undefined && since >= 0 && since < hourMs;
  return {
    ...entry,
    lastRunAt: startedAt,
    waits: entry.waits?.reason === 'FIRST_RUN' || entry.waits?.reason === 'QUEUE' ? null : entry.waits,
    bars: isInBar ? replaced(entry.bars, at, { ...bar, [name]: bar[name] + 1 }) : entry.bars,
  };
}

function moved<C extends Counts>(counts: C, from: State, to: State): C {
  return { ...counts, [from]: Math.max(0, counts[from] - 1), [to]: counts[to] + 1 };
}

/** The list after these events; the same object if they change none of its entries. Entries that no event touches stay the same objects, so that their rows are not drawn. */
export function afterEvents(list: Overview, events: readonly LiveEvent[]): Overview {
  let { totals, groups } = list;
  const changed = new Set(events.map(({ checkId }) => checkId));
  const places = new Map<unknown, number>();
  for (const [at, { id }] of list.entries.entries()) if (changed.has(id)) places.set(id, at);
  // Most events are about checks further down, which are not loaded.
  if (places.size === 0) return list;
  const entries = [...list.entries];
  for (const event of events) {
    const at = places.get(event.checkId) ?? -1;
    const entry = entries[at];
    if (entry === undefined) continue;
    if (event.type === 'run') entries[at] = afterRun(entry, event);
    const to = states.find((one) => one === event['state']);
    // The last run of a check that was just paused does not resume it.
    if (event.type !== 'state' || to === undefined || to === entry.state || entry.state === 'paused')
      continue;
    entries[at] = { ...entry, state: to, reason: null };
    totals = moved(totals, entry.state, to);
    groups = groups.map((group) => (group.id === entry.groupId ? moved(group, entry.state, to) : group));
  }
  return { ...list, entries, totals, groups };
}

/** `fresh` with the objects of `old` where nothing has changed. */
export function withKnown(fresh: readonly Entry[], old: readonly Entry[]): readonly Entry[] {
  const known = new Map(old.map((entry) => [entry.id, entry]));
  return fresh.map((entry) => {
    const before = known.get(entry.id);
    return before !== undefined && JSON.stringify(before) === JSON.stringify(entry) ? before : entry;
  });
}
