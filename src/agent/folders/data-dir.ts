import { accessSync, constants } from 'node:fs';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { remedyForFolder } from '../../config/folder-remedy.ts';
import { makeFolder } from './owner.ts';

/** The error for a data directory that cannot be used. */
export function unusableDataDirError(dataDir: string, error: unknown): FatalError {
  const { code, message } = toError(error) as NodeJS.ErrnoException; // the file system's errors have a code
  const text = `AGENT_DATA_DIR: cannot write in ${dataDir} (${code ?? message}): ${remedyForFolder(code, dataDir)}`;
  return new FatalError('CONFIGURATION', text, { exitCode: exitCodes.configuration, cause: error });
}

/**
 * Creates the data directory if it is missing. Call it before anything creates folders below it: Node's own `mkdir`
 * may never return if the folder cannot be created. Throws FatalError.
 */
export function openDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.W_OK);
  } catch (error: unknown) {
    throw unusableDataDirError(dataDir, error);
  }
}
