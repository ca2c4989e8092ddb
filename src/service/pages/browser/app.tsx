import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { usePlace } from './base/router.ts';
import { isUserUnreachable, useMay, useUser, type Role } from './base/user.ts';
import { pageAt } from './page-table.ts';
import type { PageProps } from './base/page.ts';
import { Boundary } from './parts/boundary.tsx';
import { Loading, Problem } from './parts/notice.tsx';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';

/** The whole page: the sign-in, or the frame with the page of the address. */
export function App() {
  const user = useUser();
  const place = usePlace();
  const shownPath = useRef(place.path);
  // A screen reader begins with the new page, not with the link that has gone.
  useEffect(() => {
    if (shownPath.current === place.path) return;
    shownPath.current = place.path;
    document.getElementById('content')?.focus({ preventScroll: true });
  }, [place.path]);
  if (user === undefined)
    return isUserUnreachable() ? (
      <Problem title="The service does not answer">The page is loaded as soon as it does.</Problem>
    ) : (
      <Loading what="the page" />
    );
  const isPublic = pageAt(place.path)?.row.isPublic === true;
  if ((user === null && !isPublic) || place.path === '/sign-in') return <SignIn />;
  return (
    <Shell>
      <Boundary key={place.path}>
        <PageOf path={place.path} />
      </Boundary>
    </Shell>
  );
}

function PageOf({ path }: { path: string }) {
  const found = pageAt(path);
  const [loaded, setLoaded] = useState<{ path: string; Page: ComponentType<PageProps> } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const row = found?.row;
  const mayOpen = useMay(row?.needs ?? 'READ_ONLY');
  useEffect(() => {
    setError(null);
    if (row === undefined) return;
    document.title = row.title;
    let isWanted = true;
    row.load().then(
      ({ Page }) => isWanted && setLoaded({ path: row.path, Page }),
      (reason: unknown) => isWanted && setError(reason instanceof Error ? reason : new Error(String(reason))),
    );
    return () => {
      isWanted = false;
    };
  }, [row]);
  if (found === null)
    return (
      <Problem title="There is no page at this address">
        <a href="/">All checks</a>
      </Problem>
    );
  if (row?.needs !== undefined && !mayOpen) return <NotAllowed title={row.title} needs={row.needs} />;
  if (error !== null)
    return (
      <Problem title="The page could not be loaded">
        {error.message} <a href={location.href}>Load it again</a>
      </Problem>
    );
  if (loaded === null || loaded.path !== found.row.path) return <Loading what="the page" />;
  return <loaded.Page params={found.params} />;
}

/** In place of a form that the service would refuse. */
function NotAllowed({ title, needs }: { title: string; needs: Role }) {
  const user = useUser();
  return (
    <>
      <h1>{title}</h1>
      <Problem title="Your API key may not do this">
        <p>
          It needs a key with the role {needs}. The role of your key is {user?.role}.
        </p>
      </Problem>
    </>
  );
}
