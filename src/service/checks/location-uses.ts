import type { LocationUse } from '../locations/private-routes.ts';
import { groupsAtPrivateLocation, renamePrivateLocationInGroups } from './storage/group-statements.ts';
import { checksAtPrivateLocation, renamePrivateLocationInChecks } from './storage/statements.ts';

/** Checks and check groups name private locations by their slugs. */
export const locationUses: readonly LocationUse[] = [
  {
    resources: 'checks',
    introduction: 'is assigned to',
    at: checksAtPrivateLocation,
    rename: renamePrivateLocationInChecks,
  },
  {
    resources: 'check groups',
    introduction: 'is assigned to the groups',
    at: groupsAtPrivateLocation,
    rename: renamePrivateLocationInGroups,
  },
];
