import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { useMay } from '../base/user.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { all, type Service } from './pages.ts';
import { PageHead } from '../parts/page-head.tsx';

/** The services that status pages show. */
export function Page() {
  const mayWrite = useMay('READ_WRITE');
  const services = useLoad('services', (signal) => all<Service>('/v1/status-pages/services', signal));
  useReloadOn(['service'], services.reload);
  return (
    <>
      <PageHead trail={[{ href: '/status-pages', title: 'Status pages' }]} title="Services">
        {mayWrite && (
          <div class="buttons">
            <a class="button main" href="/services/new">
              New service
            </a>
          </div>
        )}
      </PageHead>
      <Shown of={services} what="the services">
        {(entries) => (
          <section class="card flush" aria-label="List of services">
            {entries.length === 0 ? (
              <Empty title="No services yet">
                A service is what visitors of a status page know, like a shop or an API.
              </Empty>
            ) : (
              <ul class="rows">
                {entries.map((service) => (
                  <li key={service.id}>
                    <a class="row-name" href={`/services/${service.id}`}>
                      {service.name}
                    </a>
                    <span class="soft">
                      {service.checkIds.length === 0
                        ? 'state by incidents only'
                        : `state by ${service.checkIds.length} checks and incidents`}
                    </span>
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
