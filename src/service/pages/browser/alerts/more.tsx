import { setQuery, usePlace } from '../base/router.ts';
import { Button } from '../parts/button.tsx';
import { pageOf } from '../parts/paging.tsx';

/** Pages of a list whose length the service does not count. */
export function MorePages({ hasMore }: { hasMore: boolean }) {
  const { query } = usePlace();
  const page = pageOf(query);
  if (page === 1 && !hasMore) return null;
  const turn = (to: number) => setQuery({ page: to === 1 ? null : to }, { replace: false });
  return (
    <nav class="paging" aria-label="Pages of the list">
      <Button isOff={page <= 1} onClick={() => turn(page - 1)}>
        Previous
      </Button>
      <span>Page {page}</span>
      <Button isOff={!hasMore} onClick={() => turn(page + 1)}>
        Next
      </Button>
    </nav>
  );
}
