import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { setQuery } from '../base/router.ts';
import { getAll, getList } from '../base/service.ts';
import { pure } from '../parts/pure.ts';
import { clearFilters, isFiltered, sorts, type ListQuery, type Sort } from './query.ts';
import { states, type Counts, type GroupCounts, type State } from './types.ts';

/** The filters above the list. Each is part of the address. */

const tiles: { readonly [S in State]: string } = {
  failing: 'failing',
  errored: 'errored',
  degraded: 'degraded',
  waiting: 'waiting',
  passing: 'passing',
  paused: 'paused',
};

/** Totals of all checks; each is a filter. */
export const Totals = pure(function Totals({ totals, query }: { totals: Counts; query: ListQuery }) {
  const toggle = (state: State) =>
    setQuery({
      state: query.state.includes(state)
        ? query.state.filter((one) => one !== state)
        : [...query.state, state],
    });
  return (
    <div class="tiles" role="group" aria-label="Checks by state">
      <button
        type="button"
        class="tile"
        aria-pressed={query.state.length === 0}
        onClick={() => setQuery({ state: null })}
      >
        <b>{totals.all}</b>
        <span>all{totals.muted > 0 && `, ${totals.muted} muted`}</span>
      </button>
      {states.map((state) => (
        <button
          key={state}
          type="button"
          class={`tile ${totals[state] > 0 ? state : ''}`}
          aria-pressed={query.state.includes(state)}
          onClick={() => toggle(state)}
        >
          <b>{totals[state]}</b>
          <span>{tiles[state]}</span>
        </button>
      ))}
    </div>
  );
});

const types = [
  'API',
  'BROWSER',
  'MULTI_STEP',
  'PLAYWRIGHT',
  'AGENTIC',
  'URL',
  'TCP',
  'DNS',
  'ICMP',
  'SSL',
  'GRPC',
  'TRACEROUTE',
  'HEARTBEAT',
] as const;
const sortTitles: { readonly [S in Sort]: string } = {
  state: 'State',
  name: 'Name',
  availability: 'Availability',
  p95: 'p95',
  lastRun: 'Last run',
  nextRun: 'Next run',
};

export const Filters = pure(function Filters({
  query,
  tags,
  groups,
}: {
  query: ListQuery;
  tags: readonly string[];
  /** Absent: the list is of one group. */
  groups?: readonly GroupCounts[];
}) {
  const { places, readPlaces } = usePlaces();
  return (
    <div class="filters" role="search" aria-label="Filter of the checks">
      <Search value={query.search} />
      <Choice
        name="type"
        title="Type"
        all="All types"
        chosen={query.type}
        choices={types.map((type) => [type, type])}
      />
      <Choice
        name="tag"
        title="Tag"
        all="All tags"
        chosen={query.tag}
        choices={tags.map((tag) => [tag, tag])}
      />
      {groups !== undefined && (
        <Choice
          name="group"
          title="Group"
          all="All groups"
          chosen={query.groupId}
          choices={[
            ...groups.map(({ id, name }) => [String(id), name] as const),
            ['none', 'No group'] as const,
          ]}
        />
      )}
      <Choice
        name="location"
        title="Location"
        all="All locations"
        chosen={query.location}
        choices={places}
        onNear={readPlaces}
      />
      <label class="narrow-only">
        <select
          aria-label="Sort by"
          value={query.sort}
          onChange={({ currentTarget: { value } }) =>
            setQuery({ sort: value === 'state' ? null : value, order: null })
          }
        >
          {sorts.map((sort) => (
            <option key={sort} value={sort}>
              Sort: {sortTitles[sort]}
            </option>
          ))}
        </select>
      </label>
      {groups !== undefined && groups.length > 0 && (
        <label class="by-group">
          <input
            type="checkbox"
            checked={query.isByGroup}
            onChange={({ currentTarget: { checked } }) =>
              setQuery({ view: checked ? 'groups' : null, folded: null })
            }
          />{' '}
          By group
        </label>
      )}
      {isFiltered(query) && (
        <button type="button" class="plain" onClick={clearFilters}>
          Clear the filter
        </button>
      )}
    </div>
  );
});

const typingMs = 200;

function Search({ value }: { value: string }) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // The address changes by other means too: the back button, or clearing the filter.
  // Before the next key: a later effect would undo what was typed meanwhile.
  useLayoutEffect(() => {
    clearTimeout(timer.current);
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="search">
      <span class="hidden-text">Search by name, tag or id</span>
      <input
        type="search"
        value={typed}
        maxLength={255}
        placeholder="Search by name, tag or id"
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => {
          const text = currentTarget.value;
          setTyped(text);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => setQuery({ search: text.trim() === '' ? null : text }), typingMs);
        }}
      />
    </label>
  );
}

function Choice({
  name,
  title,
  all,
  chosen,
  choices,
  onNear,
}: {
  name: string;
  title: string;
  all: string;
  chosen: readonly string[];
  choices: readonly (readonly [value: string, title: string])[];
  onNear?: () => void;
}) {
  const [first = ''] = chosen;
  const isKnown = first === '' || choices.some(([value]) => value === first);
  return (
    <label>
      <select
        aria-label={title}
        value={first}
        onFocus={onNear}
        onPointerEnter={onNear}
        onChange={({ currentTarget: { value } }) => setQuery({ [name]: value })}
      >
        <option value="">{all}</option>
        {!isKnown && <option value={first}>{first}</option>}
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Locations are read when the reader comes near their filter. */
function usePlaces() {
  const [places, setPlaces] = useState<readonly (readonly [string, string])[]>([]);
  const isRead = useRef(false);
  const readPlaces = () => {
    if (isRead.current) return;
    isRead.current = true;
    Promise.all([
      getAll<{ slugName: string; name: string }>('/v1/private-locations'),
      getList<{ region: string; name: string }>('/v1/locations'),
    ]).then(
      ([own, shared]) =>
        setPlaces([
          ...own.map(({ slugName, name }) => [slugName, name] as const),
          ...shared.entries.map(({ region, name }) => [region, `${name} (${region})`] as const),
        ]),
      () => {
        isRead.current = false;
      },
    );
  };
  return { places, readPlaces };
}
