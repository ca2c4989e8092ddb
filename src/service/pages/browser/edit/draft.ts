import { get, send } from '../base/service.ts';
import type { CheckForm } from './fields/types.ts';
import type { Body } from './fields/row.ts';

/**
 * Test runs of checks that are not saved. The API runs stored checks only, so a test run stores a draft: a check that is
 * off, muted and marked by a tag. It is deleted when the form is left.
 */

export const draftTag = 'unsaved-test-run';

export type Session = {
  readonly testSessionId: string;
  readonly status: 'RUNNING' | 'PASSED' | 'FAILED' | 'CANCELLED';
  readonly results: readonly { readonly checkResultId: string; readonly resultType: string }[];
  readonly inProgress: readonly {
    readonly sequenceId: string;
    readonly runLocation: string;
    readonly state: 'QUEUED' | 'RUNNING';
    readonly stage: string | null;
    readonly log: readonly string[];
  }[];
};

export type Assertion = {
  readonly source: string;
  readonly property: string;
  readonly comparison: string;
  readonly target: string;
  readonly actual: unknown;
  readonly error: string | null;
};
export type Result = {
  readonly id: string;
  readonly checkId: string;
  readonly status: string;
  readonly resultType: string;
  readonly runLocation: string;
  readonly responseTime: number;
  readonly reason: { readonly code: string; readonly message: string } | null;
  readonly timings?: { readonly [phase: string]: number } | null;
  readonly assertions?: readonly Assertion[];
  readonly log?: readonly { readonly time: number; readonly level: string; readonly msg: string }[];
};

/** Stores the draft and starts its run. Throws as `send`; errors of fields are those of the check. */
export async function startDraft(
  form: CheckForm,
  body: Body,
  runLocation: string | null,
): Promise<{ checkId: string; session: Session }> {
  await deleteOldDrafts().catch(() => undefined);
  const name = typeof body['name'] === 'string' ? body['name'] : '';
  const { triggerIncident: _incident, alertChannelSubscriptions: _channels, ...rest } = body;
  const draft = {
    ...rest,
    name: `Test run: ${name || form.title}`.slice(0, 1024),
    activated: false,
    muted: true,
    tags: [draftTag],
  };
  const { id } = await send<{ id: string }>('POST', `/v1/checks/${form.path}?autoAssignAlerts=false`, draft);
  try {
    const session = await send<Session>('POST', '/v1/test-sessions/trigger', {
      name: draft.name.slice(0, 256),
      target: { checkId: [id], allowDeactivated: true },
      ...(runLocation === null ? {} : { runLocation }),
    });
    return { checkId: id, session };
  } catch (error) {
    deleteDraft(id);
    throw error;
  }
}

/** Deletes a draft, also when the page is being closed. */
export function deleteDraft(id: string): void {
  void fetch(`/v1/checks/${id}`, { method: 'DELETE', credentials: 'same-origin', keepalive: true }).catch(
    () => undefined,
  );
}

const hour = 3_600_000;
/** The time in an id of the service, in milliseconds. */
const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

/** Drafts whose page was closed by force stay behind; the next test run deletes them. */
async function deleteOldDrafts(): Promise<void> {
  const drafts = await get<{ id: string }[]>(`/v1/checks?limit=100&activated=false&tag=${draftTag}`);
  for (const { id } of drafts) if (timeOf(id) < Date.now() - hour) deleteDraft(id);
}

/** How the run is going. */
export const readSession = (id: string, signal: AbortSignal): Promise<Session> =>
  get<Session>(`/v1/test-sessions/${id}`, signal);

/** The results of a session, oldest first. */
export const readResults = (checkId: string, session: Session, signal: AbortSignal): Promise<Result[]> =>
  Promise.all(
    session.results.map(({ checkResultId }) =>
      get<Result>(`/v1/check-results/${checkId}/${checkResultId}`, signal),
    ),
  );
