import { useEffect } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import type { PageProps } from '../base/page.ts';
import { usePlace } from '../base/router.ts';
import { get } from '../base/service.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { currentTab, Tabs } from '../parts/tabs.tsx';
import { Moment } from '../parts/time.tsx';
import { Deployments } from './deployments.tsx';
import { Repository } from './list.tsx';
import { pageOfResource, type Project, type Resource } from './types.ts';

const tabs = [
  { id: 'deployments', title: 'Deployments' },
  { id: 'resources', title: 'Resources' },
] as const;

/** One project: its deployments, and the resources that it owns. */
export function Page({ params: { id = '' } }: PageProps) {
  const { query } = usePlace();
  const path = `/v1/projects/${encodeURIComponent(id)}`;
  const project = useLoad(path, (signal) => get<Project>(path, signal));
  useReloadOn(['deployment'], project.reload);
  const name = project.value?.name;
  useEffect(() => {
    if (name !== undefined) document.title = name;
  }, [name]);
  return (
    <Shown of={project} what="the project">
      {(value) => (
        <>
          <PageHead
            trail={[
              { href: '/', title: 'Checks' },
              { href: '/projects', title: 'Projects' },
            ]}
            title={value.name}
          />
          <section class="card" aria-label="About the project">
            <dl class="facts">
              <dt>Logical id</dt>
              <dd class="any-break">{value.logicalId}</dd>
              <dt>Repository</dt>
              <dd class="any-break">
                <Repository url={value.repoUrl} />
              </dd>
              <dt>First deployment</dt>
              <dd>
                <Moment at={value.created_at} />
              </dd>
              <dt>Last deployment</dt>
              <dd>
                <Moment at={value.updated_at ?? value.created_at} />
              </dd>
            </dl>
          </section>
          <Tabs
            label="Parts of the project"
            tabs={tabs.map((tab) => (tab.id === 'resources' ? { ...tab, count: value.resourceCount } : tab))}
          />
          {currentTab(tabs, query) === 'deployments' ? (
            <Deployments logicalId={value.logicalId} />
          ) : (
            <Resources resources={value.resources ?? []} />
          )}
        </>
      )}
    </Shown>
  );
}

const shownResources = 1000;

function Resources({ resources }: { resources: readonly Resource[] }) {
  if (resources.length === 0)
    return (
      <div class="card">
        <Empty title="The project has no resources">Its last deployment removed all of them.</Empty>
      </div>
    );
  return (
    <>
      <div class="card flush">
        <table class="stacked" aria-label="Resources">
          <thead>
            <tr>
              <th scope="col">Resource</th>
              <th scope="col">Type</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {resources.slice(0, shownResources).map((resource) => {
              const href = resource.detached ? undefined : pageOfResource(resource);
              return (
                <tr key={`${resource.type} ${resource.logicalId}`}>
                  <td data-title="Resource" class="any-break">
                    {href === undefined ? resource.logicalId : <a href={href}>{resource.logicalId}</a>}
                  </td>
                  <td data-title="Type">{resource.type.replaceAll('-', ' ')}</td>
                  <td data-title="State">
                    {resource.detached ? 'no longer in the files' : 'owned'}
                    {resource.protected && ', protected'}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {resources.length > shownResources && (
        <p class="soft">The API has the other {resources.length - shownResources} resources.</p>
      )}
    </>
  );
}
