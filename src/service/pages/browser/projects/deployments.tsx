import { useRef } from 'preact/hooks';
import { MorePages } from '../alerts/more.tsx';
import { plain } from '../base/outside.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { usePlace } from '../base/router.ts';
import { get } from '../base/service.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { pageOf } from '../parts/paging.tsx';
import { Status } from '../parts/status.tsx';
import { lasting, Moment } from '../parts/time.tsx';
import type { Deployment } from './types.ts';

const limit = 25;
const states: { readonly [status: string]: readonly [string, string] } = {
  PENDING: ['waiting', 'waiting'],
  RUNNING: ['running', 'running'],
  SUCCEEDED: ['passed', 'succeeded'],
  FAILED: ['failed', 'failed'],
  CANCELLED: ['cancelled', 'cancelled'],
};

/** Deployments of a project, newest first. The address may name one (`?deployment=…`), which a mark of a chart leads to. */
export function Deployments({ logicalId }: { logicalId: string }) {
  const { query } = usePlace();
  const wanted = query.get('deployment');
  // The one that the address names gets the focus, but only when it appears.
  const focused = useRef<string | null>(null);
  const focusOnce = (element: HTMLElement | null) => {
    if (element === null || focused.current === wanted) return;
    focused.current = wanted;
    element.focus();
  };
  const base = `/v1/projects/${encodeURIComponent(logicalId)}/deployments`;
  const path = `${base}?limit=${limit}&page=${pageOf(query)}`;
  const loaded = useLoad(path, (signal) => get<Deployment[]>(path, signal), { keep: true });
  const named = useLoad(wanted === null ? null : `${base}/${wanted}`, (signal) =>
    get<Deployment>(`${base}/${encodeURIComponent(wanted ?? '')}`, signal),
  );
  useReloadOn(['deployment'], () => (loaded.reload(), named.reload()));
  return (
    <Shown of={loaded} what="the deployments">
      {(all) => {
        // One that is older than this page is shown above it.
        const extra = named.value !== undefined && all.every(({ id }) => id !== wanted) ? [named.value] : [];
        const shown = [...extra, ...all];
        return shown.length === 0 ? (
          <div class="card">
            <Empty title="No deployments">The service keeps the last ones of each project.</Empty>
          </div>
        ) : (
          <section class="card" aria-label="Deployments">
            <ul class="tests">
              {shown.map((deployment) => (
                <li
                  key={deployment.id}
                  tabIndex={-1}
                  aria-current={deployment.id === wanted ? 'true' : undefined}
                  ref={deployment.id === wanted ? focusOnce : null}
                >
                  <OneDeployment deployment={deployment} />
                </li>
              ))}
            </ul>
            <MorePages hasMore={all.length === limit} />
          </section>
        );
      }}
    </Shown>
  );
}

const actionWords: { readonly [action: string]: string } = {
  CREATE: 'created',
  UPDATE: 'updated',
  DELETE: 'deleted',
  DETACHED: 'kept, but no longer owned',
};
const actionOf = (action: string) => actionWords[action] ?? action.toLowerCase();

function OneDeployment({ deployment }: { deployment: Deployment }) {
  const { status, progress, error, createdAt, startedAt, endedAt } = deployment;
  const [colour = 'waiting', word = status] = states[status] ?? [];
  const changes = (deployment.result?.diff ?? []).filter(({ action }) => action !== 'UNCHANGED');
  const counts = new Map<string, number>();
  for (const { action } of changes) counts.set(action, (counts.get(action) ?? 0) + 1);
  return (
    <>
      <div class="test-line">
        <Status status={colour} word={status === 'RUNNING' ? `${word}, ${progress} %` : word} />
        <Moment at={createdAt} />
        {startedAt !== null && endedAt !== null && (
          <span class="soft">took {lasting(Date.parse(endedAt) - Date.parse(startedAt))}</span>
        )}
      </div>
      {error !== null && <p class="break">{plain(error.message)}</p>}
      {changes.length > 0 ? (
        <details>
          <summary>{[...counts].map(([action, count]) => `${count} ${actionOf(action)}`).join(', ')}</summary>
          <ul>
            {changes.slice(0, 300).map(({ type, logicalId, action }) => (
              <li key={`${type} ${logicalId}`} class="break">
                {actionOf(action)}: {type.replaceAll('-', ' ')} {logicalId}
              </li>
            ))}
          </ul>
        </details>
      ) : (
        status === 'SUCCEEDED' && <p class="soft">Nothing had changed.</p>
      )}
    </>
  );
}
