import { columnOf } from '../../check-type-table.ts';

/** Last part of `/v1/checks/{…}` of each type. */
export const checkPaths = columnOf(({ path }) => path);
