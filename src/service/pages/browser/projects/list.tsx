import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { getList } from '../base/service.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { pageOf, Paging } from '../parts/paging.tsx';
import { Ago } from '../parts/time.tsx';
import { pathOfProject, webAddress, type Project } from './types.ts';

const limit = 50;

/** All projects: resources that files in a repository describe. */
export function Page() {
  const page = pageOf(usePlace().query);
  const path = `/v1/projects?limit=${limit}&page=${page}`;
  const projects = useLoad(path, (signal) => getList<Project>(path, signal), { keep: true });
  useReloadOn(['deployment'], projects.reload);
  return (
    <>
      <PageHead trail={[{ href: '/', title: 'Checks' }]} title="Projects" />
      <Shown of={projects} what="projects">
        {({ entries, total }) =>
          entries.length === 0 ? (
            <div class="card">
              <Empty title="There are no projects yet">
                A project is a set of checks and other resources that files in a repository describe. The
                first deployment creates it. <a href="/docs#deployProject">How to deploy a project</a>
              </Empty>
            </div>
          ) : (
            <>
              <div class="card flush">
                <table class="stacked" aria-label="Projects">
                  <thead>
                    <tr>
                      <th scope="col">Project</th>
                      <th scope="col" class="number">
                        Resources
                      </th>
                      <th scope="col">Repository</th>
                      <th scope="col">Last deployment</th>
                    </tr>
                  </thead>
                  <tbody>
                    {entries.map((project) => (
                      <tr key={project.logicalId}>
                        <td data-title="Project" class="any-break">
                          <a href={pathOfProject(project.logicalId)}>{project.name}</a>
                          <div class="soft">{project.logicalId}</div>
                        </td>
                        <td data-title="Resources" class="number">
                          {project.resourceCount}
                        </td>
                        <td data-title="Repository" class="any-break">
                          <Repository url={project.repoUrl} />
                        </td>
                        <td data-title="Last deployment">
                          <Ago at={project.updated_at ?? project.created_at} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <Paging total={total ?? entries.length} limit={limit} />
            </>
          )
        }
      </Shown>
    </>
  );
}

/** The address of a repository, as a link if it is one. */
export function Repository({ url }: { url: string | null }) {
  if (url === null) return <span class="soft">–</span>;
  const href = webAddress(url);
  if (href === undefined) return <>{url}</>;
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {url}
    </a>
  );
}
