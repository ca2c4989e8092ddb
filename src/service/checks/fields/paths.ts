import { columnOf } from '../types/table.ts';

/** Last path segment of `/v1/checks/{…}` of each type. */
export const checkPaths = columnOf(({ path }) => path);
