import type { FastifyBaseLogger } from 'fastify';
import { randomUUID } from 'node:crypto';
import { toError } from '../../errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { ApiDeps } from '../http/api.ts';
import {
  endAbandoned,
  endDeployment,
  insertDeployment,
  renewDeployment,
  type DeploymentError,
} from './deployment-statements.ts';
import type { Replay } from './replay.ts';
import { deploy, DeployError, DryRun, type Deploying, type Look, type Result } from './transaction.ts';

/** Runs deployments, and keeps track of them. */

export type Deployments = {
  /** What a deployment would change. `look` sees the changed account before it is rolled back. Throws DeployError. */
  preview(input: Deploying, look?: Look): Promise<Result>;
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

/** Creates the runner of deployments. `routes`: those that it writes through. */
export function createDeployments(
  deps: ApiDeps,
  routes: () => Promise<Replay>,
  log: FastifyBaseLogger,
): Deployments {
  const { db, now } = deps;
  const runner = randomUUID();
  const going = new Map<string, Going>();
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
    preview: async (input, look) => {
      try {
        await deploy(deps, await routes(), {
          input,
          deploymentId: null,
          ...(look === undefined ? {} : { look }),
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
