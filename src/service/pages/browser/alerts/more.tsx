import { setQuery, usePlace } from '../base/router.ts';
import { pageOf } from '../parts/paging.tsx';

/** Pages of a list whose length the service does not count. */
export function MorePages({ hasMore }: { hasMore: boolean }) {
  const { query } = usePlace();
  const page = pageOf(query);
  if (page === 1 && !hasMore) return null;
  const turn = (to: number) => setQuery({ page: to === 1 ? null : to }, { replace: false });
  return (
    <nav class="paging" aria-label="Pages of the list">
      <button type="button" disabled={page <= 1} onClick={() => turn(page - 1)}>
        Previous
      </button>
      <span>Page {page}</span>
      <button type="button" disabled={!hasMore} onClick={() => turn(page + 1)}>
        Next
      </button>
    </nav>
  );
}
