import type { FastifyRequest } from 'fastify';
import { serviceCheckType } from '../checks/types/table.ts';
import { findCheckGroup } from '../checks/storage/group-statements.ts';
import { resultsOfRuns } from '../sessions/statements.ts';
import type { Db } from '../db/database.ts';
import { insertGroupRun } from './group-run-statements.ts';
import type { TriggerRow } from './statements.ts';
import { conflict } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { SessionWaiting } from '../sessions/waiting.ts';
import {
  checkRoom,
  planSessionRuns,
  readSession,
  startSessions,
  type StartedSession,
} from '../sessions/sessions.ts';
import { releaseGroupRuns } from './group-runs.ts';

/** Handles a trigger call: runs the check, or the group in its order, and waits for the runs to finish. */

export type TriggerDeps = { db: Db; now: () => number; waiting: SessionWaiting };

/** Facts about the deployment from the caller; the runs get them as variables. */
export type Deployment = {
  deployment?: string;
  repository?: string;
  sha?: string;
  environmentUrl?: string;
  ENVIRONMENT_URL?: string;
  environmentName?: string;
  deploymentId?: string;
};

export type TriggerOutcome = {
  /** Whether any finished run failed, was cancelled or did not take place. */
  hasFailures: boolean;
  /** For a finished API check: response time of the slowest location in milliseconds. */
  responseTime: number | null;
  /** Whether runs are still active. */
  isGoingOn: boolean;
};

/** The longest time that a call waits. */
export const longestWaitMs = 30_000;

/** Variables of the runs; they override all others. */
export function deploymentVariables(call: Deployment) {
  const values: { [key: string]: string | undefined } = {
    ENVIRONMENT_URL: call.environmentUrl ?? call.ENVIRONMENT_URL,
    ENVIRONMENT_NAME: call.environmentName,
    DEPLOYMENT_ID: call.deploymentId,
    DEPLOYMENT: call.deployment,
    REPOSITORY: call.repository,
    SHA: call.sha,
  };
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [{ key, value, locked: false, secret: false }],
  );
}

/** Throws HttpError: 400 no such location, 409 nothing to run, 429 too many runs are waiting. */
export async function runTrigger(
  deps: TriggerDeps,
  request: FastifyRequest,
  options: { trigger: TriggerRow; deployment: Deployment; runLocation: string | null; waitMs?: number },
): Promise<TriggerOutcome> {
  const { trigger, deployment, runLocation, waitMs = longestWaitMs } = options;
  const until = performance.now() + waitMs;
  const { accountId, checkId, groupId } = trigger;
  const planned = await planSessionRuns(deps, {
    accountId,
    target: checkId === null ? {} : { checkId: [checkId] },
    alsoDeactivated: false,
    runLocation,
    ...(groupId === null ? {} : { groupId }),
  });
  if (planned.length === 0) {
    throw conflict(
      'There is nothing to run: no check that is activated and has a location where it can run.',
    );
  }
  await checkRoom(deps, { accountId, planned });
  const groupRunId = groupId === null ? null : await beginGroupRun(deps, { accountId, groupId });
  const environmentVariables = deploymentVariables(deployment);
  const sessions = await startSessions(
    deps,
    planned.map((item, position) => ({
      session: {
        id: uuidv7(deps.now()),
        accountId,
        kind: 'check',
        checkId: item.check.id,
        name: item.check.name,
        runSource: groupRunId === null ? 'LEGACY_TRIGGER' : 'GROUP_RUN_ALL',
        refreshCache: false,
        metadata: null,
        environmentVariables,
      },
      planned: [item],
      ...(groupRunId === null ? {} : { groupRun: { id: groupRunId, position } }),
    })),
  );
  if (groupRunId !== null) await releaseGroupRuns(deps);
  const ended = await waitForAll(deps, request, { accountId, sessions, until });
  const runs = ended.flatMap((session) => session.runs);
  const isGoingOn = sessions.length === 0 || runs.some(({ status }) => status === null);
  return {
    hasFailures: runs.some(({ status }) => status !== null && status !== 'passed' && status !== 'degraded'),
    responseTime: checkId === null || isGoingOn ? null : await apiResponseTime(deps, accountId, ended[0]),
    isGoingOn,
  };
}

async function beginGroupRun(
  { db, now }: TriggerDeps,
  { accountId, groupId }: { accountId: string; groupId: number },
): Promise<string> {
  const group = await findCheckGroup(db, { accountId, id: groupId });
  const concurrency = group?.definition['concurrency'];
  const id = uuidv7(now());
  await insertGroupRun(db, {
    id,
    accountId,
    concurrency: typeof concurrency === 'number' ? concurrency : 1,
    startedAt: new Date(now()),
  });
  return id;
}

/** Waits for one run after the other; the total time is the same, and each caller counts as one waiter. */
async function waitForAll(
  deps: TriggerDeps,
  request: FastifyRequest,
  options: { accountId: string; sessions: readonly StartedSession[]; until: number },
): Promise<StartedSession[]> {
  const { accountId, until } = options;
  const ended: StartedSession[] = [];
  for (const started of options.sessions) {
    const { id } = started.session;
    const read = async () => (await readSession(deps, { accountId, id, kind: 'check' })) ?? started;
    // The caller has disconnected.
    const hasLeft = request.raw.socket.destroyed;
    const left = hasLeft ? 0 : Math.max(0, Math.round(until - performance.now()));
    const over = left === 0 ? null : await deps.waiting.untilOver(request, { id, maxWaitMs: left, read });
    ended.push(over ?? (await read()));
  }
  return ended;
}

async function apiResponseTime(
  { db, now }: TriggerDeps,
  accountId: string,
  ended: StartedSession | undefined,
): Promise<number | null> {
  if (
    ended === undefined ||
    ended.runs.some(({ checkType }) => serviceCheckType(checkType)?.answersResponseTime !== true)
  )
    return null;
  const { session, runs } = ended;
  const results = await resultsOfRuns(db, { accountId, runs, from: session.startedAt, to: new Date(now()) });
  const times = results
    .filter(({ resultType, status }) => resultType === 'FINAL' && status !== 'missed')
    .map(({ responseTime }) => responseTime);
  return times.length === 0 ? null : Math.max(...times);
}
