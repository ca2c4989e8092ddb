import { useEffect } from 'preact/hooks';
import { go, usePlace } from '../base/router.ts';
import { Loading } from '../parts/notice.tsx';

/** `/channels` and `/notifications` are tabs of the alerts. */
export function Page() {
  const { path } = usePlace();
  useEffect(() => go(`/alerts?tab=${path.slice(1)}`, { replace: true }), [path]);
  return <Loading what="the alerts" />;
}
