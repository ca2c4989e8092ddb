import { useEffect } from 'preact/hooks';
import { go, usePlace } from '../base/router.ts';
import { Loading } from '../parts/notice.tsx';

/** `/keys`, `/variables` and `/snippets` are tabs of the settings. */
export function Page() {
  const { path } = usePlace();
  useEffect(() => go(`/settings?tab=${path.slice(1)}`, { replace: true }), [path]);
  return <Loading what="the settings" />;
}
