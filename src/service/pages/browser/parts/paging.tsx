import { setQuery, usePlace } from '../base/router.ts';
import { Button } from './button.tsx';

/** Pages of a list; the page is part of the address (`?page=…`). */
export function Paging({ total, limit }: { total: number; limit: number }) {
  const { query } = usePlace();
  const page = pageOf(query);
  const last = Math.max(1, Math.ceil(total / limit));
  if (last <= 1) return null;
  const turn = (to: number) => setQuery({ page: to === 1 ? null : to }, { replace: false });
  return (
    <nav class="paging" aria-label="Pages of the list">
      <Button isOff={page <= 1} onClick={() => turn(page - 1)}>
        Previous
      </Button>
      <span>
        {(page - 1) * limit + 1} to {Math.min(total, page * limit)} of {total}
      </span>
      <Button isOff={page >= last} onClick={() => turn(page + 1)}>
        Next
      </Button>
    </nav>
  );
}

/** The page that the address names, from 1. */
export const pageOf = (query: URLSearchParams): number =>
  Math.max(1, Math.trunc(Number(query.get('page') ?? 1)) || 1);
