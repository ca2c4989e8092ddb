import { accessSync, constants } from 'node:fs';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { remedyForFolder } from '../../config/folder-remedy.ts';
import { makeFolder } from './owner.ts';

/** Why nobody can live in a data directory. */
export function uselessDataDir(dataDir: string, error: unknown): FatalError {
  const { code, message } = toError(error) as NodeJS.ErrnoException; // the file system's errors have a code
  const text = `AGENT_DATA_DIR: cannot write in ${dataDir} (${code ?? message}): ${remedyForFolder(code, dataDir)}`;
  return new FatalError('CONFIGURATION', text, { exitCode: exitCodes.configuration, cause: error });
}

/**
 * Makes the data directory where it is missing. To be called before anything else makes folders below it: Node's own `mkdir` may
 * never return where none can be made. Throws FatalError.
 */
export function openDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
    accessSync(dataDir, constants.W_OK);
  } catch (error: unknown) {
    throw uselessDataDir(dataDir, error);
  }
}
