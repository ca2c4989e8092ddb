import { constants, promises as fs } from 'node:fs';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { remedyForFolder } from '../../config/folder-remedy.ts';
import { codeOf } from '../../system-errors.ts';
import { makeFolder } from './owner.ts';
import { repairModes } from './repair-modes.ts';

/** Errors of a path that only the operator can correct: a file in the place of a folder, or somebody else's folder. */
const wrongFolderCodes = new Set([
  'EACCES',
  'EEXIST',
  'EINVAL',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOTDIR',
]);

/** Whether the path itself is wrong. Other errors may pass: a disk that is full, read-only or broken. */
export function isWrongFolder(error: unknown): boolean {
  return wrongFolderCodes.has(codeOf(error) ?? '');
}

/** What is wrong with the data directory, and the remedy, as one line. */
export function dataDirTrouble(dataDir: string, error: unknown): string {
  const { code, message } = toError(error) as NodeJS.ErrnoException; // the file system's errors have a code
  return `AGENT_DATA_DIR: cannot write in ${dataDir} (${code ?? message}): ${remedyForFolder(code, dataDir)}`;
}

/** The error for a data directory that cannot be used. */
export function unusableDataDirError(dataDir: string, error: unknown): FatalError {
  return new FatalError('CONFIGURATION', dataDirTrouble(dataDir, error), {
    exitCode: exitCodes.configuration,
    cause: error,
  });
}

/**
 * Creates the data directory if it is missing. Call it before anything creates folders below it: Node's own `mkdir`
 * may never return if the folder cannot be created. Rejects with FatalError.
 */
export async function openDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir);
    repairModes(dataDir);
    await fs.access(dataDir, constants.W_OK);
  } catch (error: unknown) {
    throw unusableDataDirError(dataDir, error);
  }
}
