import type { Db } from '../db/database.ts';
import { shareLockServices } from './service-statements.ts';
import { badRequest } from '../http/errors.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import { isUuid } from '../http/fields/path-params.ts';

/**
 * Checks the services that a body names: each once, all of this account. Locks them against deletion until `tx` ends.
 * Throws 400.
 */
export async function checkServices(
  tx: Db,
  { accountId, ids, path }: { accountId: string; ids: readonly string[]; path: (index: number) => string },
): Promise<void> {
  const known = await shareLockServices(tx, { accountId, ids: ids.filter(isUuid) });
  const attributes: ErrorAttributes = {};
  for (const [index, id] of ids.entries()) {
    if (!known.includes(id)) attributes[path(index)] = [`names no service of this account (${id})`];
    else if (ids.indexOf(id) !== index) attributes[path(index)] = ['is named twice'];
  }
  if (Object.keys(attributes).length > 0) throw badRequest(attributes);
}
