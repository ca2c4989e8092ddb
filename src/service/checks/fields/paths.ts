import { columnOf } from '../types/table.ts';

/** Last part of `/v1/checks/{…}` of each type. */
export const checkPaths = columnOf(({ path }) => path);
