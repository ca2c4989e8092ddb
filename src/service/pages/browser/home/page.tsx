import { useMemo, useRef } from 'preact/hooks';
import { usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { Shown } from '../parts/notice.tsx';
import { Filters, Totals } from './filters.tsx';
import { FirstRun } from './first-run.tsx';
import { CheckList } from './list.tsx';
import { useOverview } from './overview.ts';
import { listPath, readQuery, type ListQuery } from './query.ts';

/** All checks of the account. */
export function Page() {
  const { query: address } = usePlace();
  const query = useMemo(() => readQuery(address), [address]);
  const mayWrite = useMay('READ_WRITE');
  const groups = useRef<readonly string[]>([]);
  const list = useOverview(listPath(query, unfolded(query, groups.current)));
  groups.current = list.value?.groups.map(({ id }) => String(id)) ?? groups.current;
  return (
    <>
      <header class="page-head">
        <h1>Checks</h1>
        <div class="buttons">
          <a class="button" href="/groups">
            Groups
          </a>
          <a class="button" href="/projects">
            Projects
          </a>
          {mayWrite && (
            <a class="button main" href="/checks/new">
              New check
            </a>
          )}
        </div>
      </header>
      <Shown of={{ ...list, set: () => undefined }} what="checks">
        {(value) =>
          value.totals.all === 0 ? (
            <FirstRun />
          ) : (
            <>
              <Totals totals={value.totals} query={query} />
              <Filters query={query} tags={value.tags} groups={value.groups} />
              <CheckList list={list} query={query} value={value} />
            </>
          )
        }
      </Shown>
    </>
  );
}

/** The groups whose checks are listed. None = all: also while the groups are not known, or all are folded. */
function unfolded({ isByGroup, folded, groupId }: ListQuery, groups: readonly string[]): readonly string[] {
  if (!isByGroup || folded.length === 0 || groups.length === 0) return groupId;
  return (groupId.length > 0 ? groupId : [...groups, 'none']).filter((id) => !folded.includes(id));
}
