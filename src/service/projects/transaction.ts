import { uuidv7 } from '../engine/ids.ts';
import type { Db } from '../db/database.ts';
import type { ApiDeps } from '../http/api.ts';
import { createProblems } from '../http/problems.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import { endDeployment } from './deployment-statements.ts';
import { writeAll } from './deploy.ts';
import { keyOf, openWork, planTokenOf, type Change, type Input, type Work } from './plan.ts';
import { placeWarningsOf, type PlaceWarning } from './place-warnings.ts';
import { Refused } from './requests.ts';
import type { Replay } from './replay.ts';
import {
  deleteProject,
  forgetBindings,
  ownersOf,
  runSoon,
  writeBindings,
  writeProject,
} from './statements.ts';

/** One deployment, in one transaction. */

export type Result = { diff: Change[]; planToken: string; warnings: PlaceWarning[] };

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
export class DryRun extends Error {
  readonly result: Result;
  constructor(result: Result) {
    super('dry run');
    this.result = result;
  }
}

export type Deploying = Input & {
  deletesProject: boolean;
  /** Fails if something would be deleted. */
  refusesDeletions?: boolean;
};

/** Looks at the account as a deployment leaves it. It may run more than once, so it has no other effects. */
export type Look = (tx: Db, result: Result) => Promise<void>;

type Run = {
  input: Deploying;
  /** Null = a dry run. */
  deploymentId: string | null;
  signal: AbortSignal | null;
  note: (percent: number) => void;
  /** Of a dry run. */
  look?: Look;
};

/** Runs a deployment. Throws DeployError, or DryRun with the result of a dry run; then nothing is changed. */
export async function deploy(deps: ApiDeps, replay: Replay, run: Run): Promise<void> {
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
  await refuseForeign(work, projectId);
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
  const deleted = work.changes.filter(({ action }) => action === 'DELETE').length;
  if (input.refusesDeletions === true && deleted > 0) {
    throw new DeployError(
      'DELETIONS',
      `${deleted} ${deleted === 1 ? 'resource' : 'resources'} would be deleted. Nothing was changed.`,
    );
  }
  const warnings = await placeWarningsOf(work, time);
  const result = { diff: inOrder(work.changes), planToken, warnings };
  if (deploymentId === null) {
    await run.look?.(tx, result);
    throw new DryRun(result);
  }
  const former = [...work.renamed].map(([key, logicalId]) => ({
    type: key.split('/', 1)[0] ?? '',
    logicalId,
  }));
  await forgetBindings(tx, projectId, [
    ...former,
    ...work.changes.filter(({ action }) => action === 'DELETE'),
  ]);
  await writeBindings(tx, { accountId, projectId, bindings: [...work.written.values()] });
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

/**
 * A resource that another project owns is neither changed nor deleted. Files may name it by its id, or by the logical id
 * that it had here before this project let it go.
 */
async function refuseForeign(work: Work, projectId: string): Promise<void> {
  const { tx, input, bindings, problems } = work;
  const taken = input.resources.flatMap(({ type, logicalId, physicalId: named, member }) => {
    const physicalId = named ?? bindings.get(keyOf(type, logicalId))?.physicalId;
    return member && physicalId !== undefined
      ? [{ type, logicalId, physicalId, isNamed: named !== undefined }]
      : [];
  });
  const owners = await ownersOf(tx, { accountId: input.accountId, resources: taken });
  for (const { type, logicalId, physicalId, isNamed } of taken) {
    const owner = owners.find((one) => one.type === type && one.physicalId === physicalId);
    if (owner === undefined || owner.projectId === projectId) continue;
    problems.add(
      isNamed ? `${keyOf(type, logicalId)}.physicalId` : `${keyOf(type, logicalId)}.logicalId`,
      isNamed
        ? `belongs to the project ${owner.project}: remove it there first, and keep the resource (preserveResources)`
        : `belongs to the project ${owner.project} since this project let it go (${physicalId}): give this resource ` +
            'another logicalId, or remove it there and keep it (--keep)',
    );
  }
}
