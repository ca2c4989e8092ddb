import { mayAct, type Role } from '../../http/fields/roles.ts';
import { isSecretVariable } from '../../engine/encryption.ts';
import { mapRequestSecrets } from './check.ts';

/** What checks and groups do not show, which depends on the role of the API key. */

/** Variables without the values of secret ones, and for keys that cannot write, of locked ones. */
export function hideSecrets<V extends { key: string; value: string; locked: boolean; secret: boolean }>(
  variables: readonly V[],
  role: Role,
): V[] {
  const mayReadLocked = mayAct(role, 'READ_WRITE');
  return variables.map((variable) =>
    isSecretVariable(variable) || (variable.locked && !mayReadLocked) ? { ...variable, value: '' } : variable,
  );
}

/** A request as a key of this role sees it: only those that can write read locked values and passwords. */
export function hideInRequest<R extends object>(request: R, role: Role): R {
  return mayAct(role, 'READ_WRITE') ? request : mapRequestSecrets(request, () => '');
}
