import { readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { removeTree } from './remove-tree.ts';

/**
 * A suite's temporary files may have to be outside its attempt's folder, where paths are short. A link in that folder,
 * out of the suite's reach, points to them, so that they can be found if their agent was killed.
 */

export const outsideLink = 'outside';
export const outsidePrefix = 'location-agent-suite-';
export const outsideName = /^location-agent-suite-\d+-[0-9a-f]{8}$/;

/** Removes the outside folder of an attempt whose agent is dead. Never rejects. */
export async function removeOutside(folder: string): Promise<void> {
  const path = await readlink(join(folder, outsideLink)).catch(() => '');
  // On a kernel without Landlock, a suite could have created it.
  if (outsideName.test(basename(path))) await removeTree(path).catch(() => undefined);
}
