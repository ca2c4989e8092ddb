import { itemsOf } from '../../json-values.ts';
import { isCheckType } from '../../protocol/check-types.ts';
import { servedPlaces, unservedPlaces } from '../checks/warnings.ts';
import { keyOf, type Work } from './plan.ts';

/** Places of new and changed checks and groups that no connected agent serves. */

export type PlaceWarning = { type: string; logicalId: string; field: string; message: string };

/** Finds them after everything is written. */
export async function placeWarningsOf(work: Work, now: Date): Promise<PlaceWarning[]> {
  const written = work.changes.flatMap(({ type, logicalId, action }) => {
    const state = work.written.get(keyOf(type, logicalId))?.state;
    const isChanged = action === 'CREATE' || action === 'UPDATE';
    if (!isChanged || state === undefined || (type !== 'check' && type !== 'check-group')) return [];
    const { checkType } = state;
    return [
      {
        type,
        logicalId,
        checkType: typeof checkType === 'string' && isCheckType(checkType) ? checkType : null,
        locations: itemsOf(state['locations']).map(String),
        privateLocations: itemsOf(state['privateLocations']).map(String),
      },
    ];
  });
  const { accountId } = work.input;
  const served = await servedPlaces(work.tx, { accountId, places: written, now });
  return written.flatMap(({ type, logicalId, checkType, ...places }) =>
    unservedPlaces(served, checkType, places).map((warning) => ({ type, logicalId, ...warning })),
  );
}
