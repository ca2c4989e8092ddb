import { usePlace } from '../base/router.ts';
import { getList } from '../base/service.ts';
import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { useMay } from '../base/user.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf, Paging } from '../parts/paging.tsx';
import type { Group } from './types.ts';
import { DeleteButton, removeEntry } from '../parts/removal.tsx';
import { PageHead } from '../parts/page-head.tsx';

const limit = 100;

/** All check groups. */
export function Page() {
  const page = pageOf(usePlace().query);
  const mayWrite = useMay('READ_WRITE');
  const path = `/v2/check-groups?limit=${limit}&page=${page}`;
  const groups = useLoad(path, (signal) => getList<Group>(path, signal), { keep: true });
  useReloadOn(['group'], groups.reload);
  const remove = async ({ id, name }: Group) => {
    const text = 'A group can be deleted when it has no checks.';
    if (await removeEntry({ path: `/v2/check-groups/${id}`, name: `the group ${name}`, text }))
      groups.reload();
  };
  return (
    <>
      <PageHead trail={[{ href: '/', title: 'Checks' }]} title="Groups">
        {mayWrite && (
          <div class="buttons">
            <a class="button main" href="/groups/new">
              New group
            </a>
          </div>
        )}
      </PageHead>
      <Shown of={groups} what="groups">
        {({ entries, total }) =>
          entries.length === 0 ? (
            <div class="card">
              <Empty title="There are no groups yet">
                Checks of a group share locations, tags and alerts.
              </Empty>
            </div>
          ) : (
            <>
              <div class="card flush">
                <table aria-label="Check groups">
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">State</th>
                      <th scope="col">Tags</th>
                      {mayWrite && <th scope="col">Actions</th>}
                    </tr>
                  </thead>
                  <tbody>
                    {entries.map((group) => (
                      <tr key={group.id}>
                        <td class="any-break">
                          <a href={`/groups/${group.id}`}>{group.name}</a>
                        </td>
                        <td>
                          {group.activated ? 'active' : 'paused'}
                          {group.muted && ', muted'}
                        </td>
                        <td class="any-break">{group.tags.join(', ') || '–'}</td>
                        {mayWrite && (
                          <td>
                            <div class="buttons">
                              <a
                                class="button"
                                href={`/groups/${group.id}/edit`}
                                aria-label={`Edit ${group.name}`}
                              >
                                Edit
                              </a>
                              <DeleteButton name={group.name} onClick={() => void remove(group)} />
                            </div>
                          </td>
                        )}
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
