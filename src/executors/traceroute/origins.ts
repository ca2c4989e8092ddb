import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { FatalError, exitCodes, toError } from '../../errors.ts';
import { openAsDatabase, type AsDatabase, type AsOrigin } from './as-database.ts';

/** Databases of all networks have about 10 MB. */
const maxBytes = 256 * 1024 * 1024;
/** How often the file is looked at for a newer one. */
const statEveryMs = 60_000;

/**
 * The networks of addresses, from the file that AS_DATABASE names. A newer file is read in the background; one that is
 * damaged or absent changes nothing. Throws FatalError (78) if the first one cannot be used. `now`: milliseconds of a
 * monotonic clock.
 */
export function openOrigins(path: string, now: () => number): (address: string) => AsOrigin | null {
  let stamp: string;
  let database: AsDatabase;
  try {
    stamp = stampOf(path);
    database = openAsDatabase(readFileSync(path));
  } catch (error) {
    throw new FatalError(
      'CONFIGURATION',
      `AS_DATABASE names ${path}, which cannot be used: ${problemOf(error)}`,
      {
        exitCode: exitCodes.configuration,
        remedy: 'name a database of AS numbers in MMDB format in AS_DATABASE, or unset it',
        cause: error,
      },
    );
  }
  let checkedAt = now();
  let isReading = false;

  async function readNewer(): Promise<void> {
    try {
      const newStamp = stampOf(path);
      if (newStamp === stamp) return;
      database = openAsDatabase(await readFile(path));
      stamp = newStamp;
    } catch {
      // It may be incomplete while it is being replaced. The one before it stays in use.
    } finally {
      isReading = false;
    }
  }

  return (address) => {
    if (!isReading && now() - checkedAt >= statEveryMs) {
      checkedAt = now();
      isReading = true;
      void readNewer();
    }
    return database.find(address);
  };
}

/** The system's own words, without the path that they often repeat. */
function problemOf(error: unknown): string {
  const { message } = toError(error);
  return /^E[A-Z]+: .*(?=, \w+(?: '|$))/.exec(message)?.[0] ?? message;
}

/** Changes whenever the file does. */
function stampOf(path: string): string {
  const { ino, mtimeMs, size } = statSync(path);
  if (size > maxBytes) throw new Error(`the file has more than ${maxBytes / 1024 / 1024} MB`);
  return `${ino} ${mtimeMs} ${size}`;
}
