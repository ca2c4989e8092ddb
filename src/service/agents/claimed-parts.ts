import {
  codeOfCheck,
  definitionOfCheck,
  definitionOfGroup,
  type ClaimedGroup,
  type ClaimedJob,
} from '../scheduling/jobs-claim.ts';
import { isCheckType, kindOf } from '../../protocol/check-types.ts';
import { findBundle, type BundleRow } from '../bundles/statements.ts';
import { settingsOfSession, type SessionRetries } from '../scheduling/session-runs.ts';
import type { Queryable } from '../db/database.ts';
import type { Variable } from '../checks/storage/settings.ts';

/** A leased job with everything that is stored for its check and its group. */
export type CompleteJob = Omit<ClaimedJob, 'definition' | 'group'> & {
  definition: Definition;
  group: (ClaimedGroup & { definition: Definition }) | null;
  code: Definition | null;
  /** Code bundle of a suite; null if it was deleted, and for other types. */
  bundle: BundleRow | null;
  /** Variables of its test session or trigger, as stored; they override all others. */
  sessionVariables: readonly Variable[];
  /** Retries that its session requests; null = as configured for the check. */
  sessionRetries: SessionRetries | null;
};

type Definition = Record<string, unknown>;

/**
 * Reads the large parts that a claim omits, each with its own statement, and each group definition only once.
 * Null = the check was deleted, and its job with it.
 */
export function createPartsReader(db: Queryable): (job: ClaimedJob) => Promise<CompleteJob | null> {
  const groups = new Map<number, Promise<Definition | null>>();
  const groupDefinition = ({ id, definition }: ClaimedGroup) => {
    const read =
      groups.get(id) ?? (definition === null ? definitionOfGroup(db, id) : Promise.resolve(definition));
    groups.set(id, read);
    return read;
  };
  const bundleOf = async ({ checkType, accountId }: ClaimedJob, definition: Definition) => {
    const key = definition['codeBundlePath'];
    if (!isCheckType(checkType) || kindOf[checkType] !== 'suite' || typeof key !== 'string') return null;
    return (await findBundle(db, { accountId, key })) ?? null;
  };
  const ofSessions = new Map<string, ReturnType<typeof settingsOfSession>>();
  const sessionSettings = async ({ sessionId }: ClaimedJob) => {
    if (sessionId === null) return { variables: [], retries: null };
    const read = ofSessions.get(sessionId) ?? settingsOfSession(db, sessionId);
    ofSessions.set(sessionId, read);
    return read;
  };
  return async (job) => {
    const definition = job.definition ?? (await definitionOfCheck(db, job.checkId));
    if (definition === null) return null;
    const ofSession = await sessionSettings(job);
    const ofGroup = job.group === null ? null : await groupDefinition(job.group);
    return {
      ...job,
      definition,
      // A group can be deleted only when it is empty, so the check has left the group in the meantime.
      group: job.group === null || ofGroup === null ? null : { ...job.group, definition: ofGroup },
      code: job.hasCode ? await codeOfCheck(db, job.checkId) : null,
      bundle: await bundleOf(job, definition),
      sessionVariables: ofSession.variables as Variable[], // written by scheduling/sessions.ts
      sessionRetries: ofSession.retries,
    };
  };
}
