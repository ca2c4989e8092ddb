import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { setQuery } from '../base/router.ts';
import { Empty } from '../parts/notice.tsx';
import { clearFilters, isFiltered, sortBy, type ListQuery, type Sort } from './query.ts';
import type { List } from './overview.ts';
import { Row } from './row.tsx';
import { states, type Entry, type GroupCounts, type Overview } from './types.ts';

/** The list itself: a table whose rows become cards on narrow screens. */

const columns: readonly { readonly sort: Sort | null; readonly title: string }[] = [
  { sort: 'state', title: 'State' },
  { sort: 'name', title: 'Name' },
  { sort: null, title: 'Type, group, tags' },
  { sort: null, title: '24 hours' },
  { sort: 'availability', title: 'Availability' },
  { sort: 'p95', title: 'p95' },
  { sort: 'lastRun', title: 'Last run' },
  { sort: 'nextRun', title: 'Next run' },
];

export function CheckList({ list, query, value }: { list: List; query: ListQuery; value: Overview }) {
  const table = useRef<HTMLDivElement>(null);
  useKeptFocus(table, value.entries);
  const { entries } = value;
  if (entries.length === 0 && !(query.isByGroup && query.folded.length > 0))
    return (
      <div class="card">
        <Empty title={isFiltered(query) ? 'No check matches this filter' : 'There are no checks here'}>
          {isFiltered(query) && (
            <button type="button" onClick={clearFilters}>
              Clear the filter
            </button>
          )}
        </Empty>
      </div>
    );
  return (
    <>
      <div class="card flush">
        <div
          ref={table}
          role="table"
          class="check-list"
          aria-label="Checks"
          aria-rowcount={value.length + 1}
          aria-busy={list.isLoading}
          tabIndex={-1}
        >
          <div role="rowgroup">
            <div role="row" class="check-columns">
              {columns.map(({ sort, title }) => (
                <div
                  key={title}
                  role="columnheader"
                  aria-sort={
                    sort === query.sort ? (query.order === 'asc' ? 'ascending' : 'descending') : undefined
                  }
                >
                  {sort === null ? (
                    title
                  ) : (
                    <button type="button" class="plain" onClick={() => sortBy(sort, query)}>
                      {title}
                      <span aria-hidden="true">
                        {sort === query.sort ? (query.order === 'asc' ? ' ↑' : ' ↓') : ''}
                      </span>
                    </button>
                  )}
                </div>
              ))}
            </div>
          </div>
          {query.isByGroup ? (
            <Grouped value={value} query={query} isLoading={list.isLoading} />
          ) : (
            <div role="rowgroup">
              {entries.map((entry) => (
                <Row key={entry.id} entry={entry} hasGroup />
              ))}
            </div>
          )}
        </div>
      </div>
      <More list={list} shown={entries.length} of={value.length} />
    </>
  );
}

/** Groups by name, then the checks without one; a folded group shows its counts only. */
function Grouped({ value, query, isLoading }: { value: Overview; query: ListQuery; isLoading: boolean }) {
  const byGroup = new Map<string, Entry[]>();
  for (const entry of value.entries) {
    const id = entry.groupId === null ? 'none' : String(entry.groupId);
    byGroup.set(id, [...(byGroup.get(id) ?? []), entry]);
  }
  // A group that was just unfolded has no checks until they are read. It stays, because its button has the focus.
  const before = useRef<ReadonlySet<string>>(new Set());
  const isShown = (id: string) =>
    byGroup.has(id) || query.folded.includes(id) || (isLoading && before.current.has(id));
  const shown = new Set([...value.groups.map(({ id }) => String(id)), 'none'].filter(isShown));
  useLayoutEffect(() => {
    before.current = shown;
  });
  return (
    <>
      {value.groups
        .filter(({ id }) => shown.has(String(id)))
        .map((group) => (
          <Group
            key={group.id}
            id={String(group.id)}
            name={<a href={`/groups/${group.id}`}>{group.name}</a>}
            label={group.name}
            counts={group}
            query={query}
            entries={byGroup.get(String(group.id)) ?? []}
          />
        ))}
      {shown.has('none') && (
        <Group
          key="none"
          id="none"
          name="No group"
          label="No group"
          query={query}
          entries={byGroup.get('none') ?? []}
        />
      )}
    </>
  );
}

function Group({
  id,
  name,
  label,
  counts,
  query: { folded },
  entries,
}: {
  id: string;
  name: ComponentChildren;
  label: string;
  counts?: GroupCounts;
  query: ListQuery;
  entries: readonly Entry[];
}) {
  const isFolded = folded.includes(id);
  const fold = () => setQuery({ folded: isFolded ? folded.filter((one) => one !== id) : [...folded, id] });
  return (
    <div role="rowgroup">
      <div role="row" class="group-row">
        <div role="rowheader">
          <button
            type="button"
            class="plain"
            aria-expanded={!isFolded}
            aria-label={`${isFolded ? 'Unfold' : 'Fold'} ${label}`}
            onClick={fold}
          >
            {isFolded ? '▸' : '▾'}
          </button>
          <b>{name}</b>
          {counts !== undefined && (
            <span class="soft">
              {states
                .filter((state) => counts[state] > 0)
                .map((state) => `${counts[state]} ${state}`)
                .join(', ') || 'no checks'}
            </span>
          )}
        </div>
      </div>
      {!isFolded && entries.map((entry) => <Row key={entry.id} entry={entry} hasGroup={false} />)}
    </div>
  );
}

/** Loads more when it comes into view, or by its button. */
function More({ list, shown, of }: { list: List; shown: number; of: number }) {
  const element = useRef<HTMLDivElement>(null);
  const { hasMore, more } = list;
  useEffect(() => {
    if (!hasMore || element.current === null) return;
    const observer = new IntersectionObserver(
      (seen) => {
        // Not before the reader scrolls: the first page is enough to begin with.
        if (scrollY > 0 && seen.some(({ isIntersecting }) => isIntersecting)) more();
      },
      { rootMargin: '600px' },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [hasMore, more, shown]);
  return (
    <div ref={element} class="paging">
      <span>
        {Math.min(shown, of)} of {of} checks
      </span>
      {hasMore && (
        <button type="button" onClick={more}>
          Show more
        </button>
      )}
    </div>
  );
}

/** A row that moves to another place loses the focus in browsers; it gets it back without scrolling. */
function useKeptFocus(table: { readonly current: HTMLElement | null }, entries: readonly Entry[]): void {
  const focused = useRef<Element | null>(null);
  focused.current = table.current?.contains(document.activeElement) ? document.activeElement : null;
  useLayoutEffect(() => {
    const before = focused.current;
    if (!(before instanceof HTMLElement) || document.activeElement === before) return;
    (before.isConnected ? before : table.current)?.focus({ preventScroll: true });
  }, [entries]);
}
