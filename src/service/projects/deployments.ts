import type { FastifyBaseLogger } from 'fastify';
import { randomUUID } from 'node:crypto';
import { toError } from '../../errors.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { ApiDeps } from '../http/api.ts';
import { createProblems } from '../http/problems.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import {
  endAbandoned,
  endDeployment,
  insertDeployment,
  renewDeployment,
  type DeploymentError,
} from './deployment-statements.ts';
import { writeAll } from './deploy.ts';
import { openWork, planTokenOf, type Change, type Input } from './plan.ts';
import { Refused } from './requests.ts';
import { createReplay, type Replay } from './replay.ts';
import {
  deleteProject,
  forgetBindings,
  ownersOf,
  runSoon,
  writeBindings,
  writeProject,
} from './statements.ts';

/** Runs deployments, each in one transaction. */

export type Result = { diff: Change[]; planToken: string };

/** A deployment that cannot be done; nothing of it was written. */
export class DeployError extends Error {
  readonly code: string;
  readonly attributes: ErrorAttributes;
  constructor(code: string, message: string, attributes: ErrorAttributes = {}) {
    super(message);
    this.name = 'DeployError';
    this.code = code;
    this.attributes = attributes;
  }
}

/** Rolls a dry run back. */
class DryRun extends Error {
  readonly result: Result;
  constructor(result: Result) {
    super('dry run');
    this.result = result;
  }
}

export type Deploying = Input & { deletesProject: boolean };

export type Deployments = {
  /** What a deployment would change. Throws DeployError. */
  preview(input: Deploying): Promise<Result>;
  /** Starts a deployment and returns its id; null = another one of the project is going on. */
  start(input: Deploying): Promise<string | null>;
  /** Ends those whose runner is dead. */
  endAbandoned(named: { accountId: string; logicalId: string }): Promise<void>;
  /** Progress in percent of a deployment that runs in this process. */
  progressOf(id: string): number | undefined;
  /** Cancels a deployment that runs in this process; others see the request in the database. */
  cancel(id: string): void;
  /** Resolves when nothing runs. */
  stop(): Promise<void>;
};

const leaseMs = 30_000;
const renewEveryMs = 2_000;

type Going = { progress: number; stop: AbortController; done: Promise<void> };

/** Creates the runner of deployments. The routes that it writes through are made with the first one. */
export function createDeployments(deps: ApiDeps, log: FastifyBaseLogger): Deployments {
  const { db, now } = deps;
  const runner = randomUUID();
  const going = new Map<string, Going>();
  let replay: Promise<Replay> | null = null;
  const routes = () => (replay ??= createReplay(deps, log));
  const warn = (error: unknown, text: string) => log.warn({ error: toError(error).message }, text);
  const leasedUntil = () => new Date(now() + leaseMs);

  /** On PostgreSQL, a second connection keeps the lease and sees the wish to cancel. */
  async function renewing(id: string, one: Going): Promise<void> {
    const state = await renewDeployment(db, {
      id,
      progress: one.progress,
      now: new Date(now()),
      leasedUntil: leasedUntil(),
    });
    if (state !== false) one.stop.abort();
  }

  async function run(id: string, input: Deploying, one: Going): Promise<void> {
    const renew = () => renewing(id, one).catch((error: unknown) => warn(error, 'lease of a deployment'));
    await renew();
    const timer = setInterval(() => void renew(), renewEveryMs);
    try {
      await deploy(deps, await routes(), {
        input,
        deploymentId: id,
        signal: one.stop.signal,
        note: (share) => (one.progress = share),
      });
    } catch (error) {
      await fail(id, one, error);
    } finally {
      clearInterval(timer);
    }
  }

  async function fail(id: string, one: Going, error: unknown): Promise<void> {
    const isCancelled = one.stop.signal.aborted;
    const reason = isCancelled
      ? { code: 'CANCELLED', message: 'The deployment was cancelled. Nothing was changed.' }
      : errorOf(error);
    if (reason.code === 'INTERNAL') warn(error, 'a deployment failed');
    const status = isCancelled ? 'CANCELLED' : 'FAILED';
    await endDeployment(db, { id, status, error: reason, result: null, now: new Date(now()) }).catch(
      (failure: unknown) => warn(failure, 'the end of a deployment was not written'),
    );
  }

  return {
    preview: async (input) => {
      try {
        await deploy(deps, await routes(), {
          input,
          deploymentId: null,
          signal: null,
          note: () => undefined,
        });
      } catch (error) {
        if (error instanceof DryRun) return error.result;
        throw error;
      }
      throw new Error('a dry run ends with its result');
    },
    start: async (input) => {
      const { accountId, project } = input;
      const id = uuidv7(now());
      const time = new Date(now());
      const isFirst = await db.tx((tx) =>
        insertDeployment(tx, {
          id,
          accountId,
          logicalId: project.logicalId,
          runner,
          now: time,
          leasedUntil: leasedUntil(),
        }),
      );
      if (!isFirst) return null;
      const one: Going = { progress: 0, stop: new AbortController(), done: Promise.resolve() };
      going.set(id, one);
      one.done = run(id, input, one).finally(() => going.delete(id));
      return id;
    },
    endAbandoned: (named) =>
      endAbandoned(db, {
        ...named,
        now: new Date(now()),
        onlyRunner: db.kind === 'embedded' ? runner : null,
      }),
    progressOf: (id) => going.get(id)?.progress,
    cancel: (id) => going.get(id)?.stop.abort(),
    stop: async () => {
      for (const { stop } of going.values()) stop.abort();
      await Promise.all([...going.values()].map(({ done }) => done));
    },
  };
}

function errorOf(error: unknown): DeploymentError {
  if (error instanceof DeployError) {
    const { code, message, attributes } = error;
    return { code, message, attributes };
  }
  return { code: 'INTERNAL', message: 'The service failed. Nothing was changed; its log has the reason.' };
}

type Run = {
  input: Deploying;
  /** Null = a dry run. */
  deploymentId: string | null;
  signal: AbortSignal | null;
  note: (percent: number) => void;
};

async function deploy(deps: ApiDeps, replay: Replay, run: Run): Promise<void> {
  await deps.db.tx((tx) => deployIn(tx, deps, replay, run));
}

async function deployIn(tx: Db, deps: ApiDeps, replay: Replay, run: Run): Promise<void> {
  const { input, deploymentId, signal, note } = run;
  const { accountId, project } = input;
  const time = new Date(deps.now());
  const id = uuidv7(deps.now());
  const projectId = await writeProject(tx, { ...project, accountId, id, now: time });
  const problems = createProblems();
  let steps = 0;
  const work = await openWork({
    tx,
    replay,
    encryption: deps.encryption,
    input,
    problems,
    projectId,
    step: () => {
      signal?.throwIfAborted();
      steps += 1;
      // The rest is the commit.
      note(Math.min(95, Math.floor((steps * 95) / Math.max(1, input.resources.length))));
    },
  });
  const planToken = planTokenOf(work);
  if (input.planToken !== null && input.planToken !== planToken) {
    throw new DeployError(
      'PLAN_STALE',
      'The account or the files have changed since the plan was made. Nothing was changed: plan again.',
    );
  }
  await refuseForeign(tx, { work: input, projectId, problems });
  try {
    if (problems.attributes() === null) await writeAll(work);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  const attributes = problems.attributes();
  if (attributes !== null) {
    const count = Object.keys(attributes).length;
    throw new DeployError(
      'INVALID',
      `${count} ${count === 1 ? 'problem' : 'problems'} in the resources. Nothing was changed.`,
      attributes,
    );
  }
  const result = { diff: inOrder(work.changes), planToken };
  if (deploymentId === null) throw new DryRun(result);
  await writeBindings(tx, { accountId, projectId, bindings: [...work.written.values()] });
  await forgetBindings(
    tx,
    projectId,
    work.changes.filter(({ action }) => action === 'DELETE'),
  );
  if (input.runsSoon) await runSoon(tx, checksOf(work.changes), time);
  if (input.deletesProject) await deleteProject(tx, projectId);
  signal?.throwIfAborted();
  const end = {
    id: deploymentId,
    status: 'SUCCEEDED' as const,
    error: null,
    result,
    now: new Date(deps.now()),
  };
  // Its lease has ended, or it was cancelled: another one may have begun.
  if (!(await endDeployment(tx, end)))
    throw new DeployError('ABANDONED', 'The deployment is over. Nothing was changed.');
}

const checksOf = (changes: readonly Change[]): string[] =>
  changes.flatMap(({ type, action, physicalId }) =>
    type === 'check' && (action === 'CREATE' || action === 'UPDATE') && physicalId !== null
      ? [physicalId]
      : [],
  );

/** What changes comes first, and the rest in the order of types and names. */
function inOrder(changes: readonly Change[]): Change[] {
  const rank = ({ action, type, logicalId }: Change) =>
    `${action === 'UNCHANGED' ? 1 : 0}/${type}/${logicalId}`;
  return [...changes].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** A resource that another project owns is neither changed nor deleted. */
async function refuseForeign(
  tx: Db,
  {
    work,
    projectId,
    problems,
  }: { work: Deploying; projectId: string; problems: ReturnType<typeof createProblems> },
): Promise<void> {
  const taken = work.resources.flatMap(({ type, physicalId, member, logicalId }) =>
    member && physicalId !== undefined ? [{ type, physicalId, logicalId }] : [],
  );
  const owners = await ownersOf(tx, { accountId: work.accountId, resources: taken });
  for (const { type, physicalId, logicalId } of taken) {
    const owner = owners.find((one) => one.type === type && one.physicalId === physicalId);
    if (owner === undefined || owner.projectId === projectId) continue;
    problems.add(
      `${type}/${logicalId}.physicalId`,
      `belongs to the project ${owner.project}: remove it there first, and keep the resource (preserveResources)`,
    );
  }
}
