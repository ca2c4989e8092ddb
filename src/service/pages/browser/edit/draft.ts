import { get, send, withQuery } from '../base/service.ts';
import type { CheckForm } from './fields/types.ts';
import type { Body } from './fields/row.ts';

/** Test runs of checks that are not saved. The service runs the body once, and stores no check. */

export type Session = {
  readonly testSessionId: string;
  readonly status: 'RUNNING' | 'PASSED' | 'FAILED' | 'CANCELLED';
  readonly results: readonly {
    readonly checkId: string;
    readonly checkResultId: string;
    readonly resultType: string;
  }[];
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

/** Starts a run of the body. Throws as `send`; errors of fields are those of the check. */
export const startTry = (
  form: CheckForm,
  body: Body,
  { id, runLocation }: { id: string | null; runLocation: string | null },
): Promise<Session> =>
  send<Session>('POST', withQuery(`/v1/checks/${form.path}/try`, { id, runLocation }), body);

/** Asks the service to stop the run; only suites and agentic checks can be stopped, the others take seconds. */
export const stopTry = (id: string): Promise<void> =>
  send<void>('POST', `/v1/test-sessions/${id}/cancel`, {}).catch(() => undefined);

/** How the run is going. */
export const readSession = (id: string, signal: AbortSignal): Promise<Session> =>
  get<Session>(`/v1/test-sessions/${id}`, signal);

/** The results of a session, oldest first. */
export const readResults = (session: Session, signal: AbortSignal): Promise<Result[]> =>
  Promise.all(
    session.results.map(({ checkId, checkResultId }) =>
      get<Result>(`/v1/check-results/${checkId}/${checkResultId}`, signal),
    ),
  );
