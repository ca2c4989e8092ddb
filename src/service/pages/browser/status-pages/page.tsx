import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { useMay } from '../base/user.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { all, type StatusPage } from './pages.ts';

/** All status pages. */
export function Page() {
  const mayWrite = useMay('READ_WRITE');
  const pages = useLoad('pages', (signal) => all<StatusPage>('/v1/status-pages', signal));
  useReloadOn(['page', 'service'], pages.reload);
  return (
    <>
      <div class="page-head">
        <h1>Status pages</h1>
        <div class="buttons">
          <a class="button" href="/services">
            Services
          </a>
          {mayWrite && (
            <a class="button main" href="/status-pages/new">
              New status page
            </a>
          )}
        </div>
      </div>
      <Shown of={pages} what="the status pages">
        {(entries) => (
          <section class="card flush" aria-label="List of status pages">
            {entries.length === 0 ? (
              <Empty title="No status pages yet">
                A status page tells visitors how your services are. Begin with{' '}
                <a href="/services">services</a>.
              </Empty>
            ) : (
              <ul class="rows">
                {entries.map((page) => (
                  <li key={page.id}>
                    <a class="row-name" href={`/status-pages/${page.id}`}>
                      {page.name}
                    </a>
                    <span class="soft">{page.isPrivate ? 'private' : 'public'}</span>
                    <span class="soft">
                      {page.cards.reduce((sum, { services }) => sum + services.length, 0)} services
                    </span>
                    <a href={`/status/${page.url}`} target="_blank" rel="noreferrer">
                      /status/{page.url}
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </section>
        )}
      </Shown>
    </>
  );
}
