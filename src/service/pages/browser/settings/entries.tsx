import type { ComponentChildren } from 'preact';
import { useLoad, type Loaded } from '../base/load.ts';
import { usePlace } from '../base/router.ts';
import { getList, withQuery } from '../base/service.ts';
import { pageOf, Paging } from '../parts/paging.tsx';
import { Shown } from '../parts/notice.tsx';

/** Lists of the settings: one page of entries. */

const limit = 50;
export type Entries<Entry> = Loaded<{ entries: Entry[]; total: number | null }>;

/** The page of a list that the address names. */
export function useEntries<Entry>(path: string): Entries<Entry> {
  const { query } = usePlace();
  const full = withQuery(path, { limit, page: pageOf(query) });
  return useLoad(full, (signal) => getList<Entry>(full, signal), { keep: true });
}

export function EntryList<Entry>({
  of,
  what,
  children,
}: {
  of: Entries<Entry>;
  what: string;
  children: (entries: readonly Entry[]) => ComponentChildren;
}) {
  return (
    <Shown of={of} what={what}>
      {({ entries, total }) => (
        <>
          {children(entries)}
          <Paging total={total ?? entries.length} limit={limit} />
        </>
      )}
    </Shown>
  );
}
