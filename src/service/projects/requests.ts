import { shortened } from '../../shortened.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import { keyOf, type Resource, type Work } from './plan.ts';
import { resolved } from './references.ts';
import type { Answer } from './replay.ts';

/** What the parts of a deployment share: who writes, references, and answers that are errors. */

/** Who writes, for the routes. */
export const by = ({ tx, input: { accountId, role } }: Work) => ({ tx, accountId, role });

/** The payload of a resource with ids in place of its references. */
export function resolve(work: Work, { type, logicalId, payload }: Resource) {
  return resolved({
    payload,
    at: keyOf(type, logicalId),
    lookup: (of, id) => work.names.get(keyOf(of, id)),
    problems: work.problems,
  });
}

/** Longest text of a failure that is not about a field. */
const longestReason = 500;

/** Adds the problems of an answer that is an error. Returns whether it is one. */
export function refused(
  work: Work,
  { type, logicalId }: { type: string; logicalId: string },
  answer: Answer,
): boolean {
  if (answer.status < 400) return false;
  const at = keyOf(type, logicalId);
  const { message, attributes } = answer.body as { message?: string; attributes?: ErrorAttributes }; // errorBody
  const named = Object.entries(attributes ?? {});
  for (const [field, reasons] of named)
    for (const reason of reasons) work.problems.add(`${at}.${field}`, reason);
  if (named.length === 0)
    work.problems.add(at, shortened(message ?? `status ${answer.status}`, longestReason));
  // After a failed statement, PostgreSQL refuses all others of the transaction.
  if (answer.status >= 500 || answer.status === 409) throw new Refused();
  return true;
}

/** The transaction cannot continue; `problems` has the reason. */
export class Refused extends Error {}
