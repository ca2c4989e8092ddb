import { readFile, stat } from 'node:fs/promises';
import { dayMs } from '../../durations.ts';
import { toError } from '../../errors.ts';
import { openAsDatabase, type AsDatabase } from '../../executors/traceroute/as-database.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

/** Networks move between companies; after half a year names are often wrong. */
const oldDays = 180;
/** Public name servers, which every database of AS numbers has. */
const examples = ['1.1.1.1', '8.8.8.8', '9.9.9.9', '2606:4700:4700::1111'];
const formatRemedy =
  'name a database of AS numbers in MMDB format in AS_DATABASE, or unset it: the agent does not start with this file';

/** Tries the file of AS_DATABASE. `path` null = the variable is not set, and there is nothing to try. */
export function asDatabaseProbes(path: string | null, now: () => number): Probe[] {
  return path === null ? [] : [{ name: 'AS numbers', run: () => tried(path, now()) }];
}

async function tried(path: string, now: number): Promise<Omit<Finding, 'name'>> {
  let database: AsDatabase;
  let changedAt: number;
  try {
    changedAt = (await stat(path)).mtimeMs;
    database = openAsDatabase(await readFile(path));
  } catch (error: unknown) {
    return problem(`${path} cannot be used: ${toError(error).message}`, formatRemedy);
  }
  const days = Math.max(0, Math.floor((now - changedAt) / dayMs));
  const found = examples.flatMap((address) => {
    const origin = database.find(address);
    return origin === null ? [] : { address, ...origin };
  })[0];
  const what = `${path} (of ${new Date(changedAt).toISOString().slice(0, 10)})`;
  if (found === undefined) {
    return note(
      `${what} has no AS number for ${examples.join(', ')}`,
      'databases of places or of parts of the internet show no network of most hops; name one of AS numbers',
    );
  }
  const name = found.organization === null ? '' : ` ${found.organization}`;
  const message = `${what}: ${found.address} is in AS${found.asn}${name}`;
  return days < oldDays ? ok(message) : note(message, 'download a newer one; networks change their owners');
}
