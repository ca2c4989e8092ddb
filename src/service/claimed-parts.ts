import {
  codeOfCheck,
  definitionOfCheck,
  definitionOfGroup,
  type ClaimedGroup,
  type ClaimedJob,
} from './db/jobs-claim.ts';
import type { Queryable } from './db/database.ts';

/** A leased job with everything that is stored of its check and its group. */
export type WholeJob = Omit<ClaimedJob, 'definition' | 'group'> & {
  definition: Definition;
  group: (ClaimedGroup & { definition: Definition }) | null;
  code: Definition | null;
};

type Definition = Record<string, unknown>;

/**
 * Reads what a claim has left out because it is large, each in a statement of its own, the definition of a group once.
 * Null = the check is gone, and its job with it.
 */
export function createPartsReader(db: Queryable): (job: ClaimedJob) => Promise<WholeJob | null> {
  const groups = new Map<number, Promise<Definition | null>>();
  const groupDefinition = ({ id, definition }: ClaimedGroup) => {
    const read =
      groups.get(id) ?? (definition === null ? definitionOfGroup(db, id) : Promise.resolve(definition));
    groups.set(id, read);
    return read;
  };
  return async (job) => {
    const definition = job.definition ?? (await definitionOfCheck(db, job.checkId));
    if (definition === null) return null;
    const ofGroup = job.group === null ? null : await groupDefinition(job.group);
    return {
      ...job,
      definition,
      // A group is deleted only once no check is left in it: the check has been taken out of it meanwhile.
      group: job.group === null || ofGroup === null ? null : { ...job.group, definition: ofGroup },
      code: job.hasCode ? await codeOfCheck(db, job.checkId) : null,
    };
  };
}
