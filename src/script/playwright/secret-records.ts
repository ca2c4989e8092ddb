import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bounds } from '../child/capture/format.ts';
import { fieldsOf, parsedJson } from '../../json-values.ts';
import { codeOf } from '../../system-errors.ts';
import { lostSecretText, mostSecrets } from '../process/lost-secret.ts';
import { readOwnFile } from './files.ts';

/**
 * The secrets that the processes of a run named. They send each one as a message, too, which arrives earlier. But a
 * message can be lost on its way when a process exits, and the agent must know a secret before any text or file of the
 * run leaves it.
 */
export type SecretRecords = {
  secrets: Set<string>;
  /** Why they are not complete. */
  lostSecret: string | null;
};

const recordName = /^secrets-\d+-\d+\.jsonl$/;
/** More processes than the tests of a run start. */
const maxFiles = 1000;
const maxBytes = 32 * 1024 * 1024;

/** Reads the records below `folder`. Never throws. The script could have written them, so they are bounded. */
export async function readSecretRecords(folder: string): Promise<SecretRecords> {
  const found: SecretRecords = { secrets: new Set(), lostSecret: null };
  const lose = (): void => {
    found.lostSecret ??= lostSecretText('records');
  };
  let names: string[] = [];
  try {
    // The script may have put a link in its place.
    if ((await lstat(folder)).isDirectory()) names = await readdir(folder);
  } catch (error: unknown) {
    // No process has written anything yet. Any other error may hide secrets.
    if (codeOf(error) !== 'ENOENT') lose();
  }
  let left = maxBytes;
  let files = maxFiles;
  for (const name of names.filter((one) => recordName.test(one))) {
    if (left <= 0 || files-- <= 0) {
      lose();
      break;
    }
    const path = join(folder, name);
    const text = await readOwnFile(path, left);
    if (text === null) {
      // A link or a folder of this name is the script's own.
      if ((await lstat(path).catch(() => null))?.isFile() ?? true) lose();
      continue;
    }
    left -= Buffer.byteLength(text);
    // The last record is incomplete: there was no room for it, or it is beyond what is read.
    if (text !== '' && !text.endsWith('\n')) lose();
    for (const line of text.split('\n')) {
      const record = fieldsOf(line === '' ? undefined : parsedJson(line));
      if (record['kind'] === 'lost-secret') found.lostSecret ??= lostSecretText(record['limit']);
      else if (record['kind'] === 'secret' && typeof record['value'] === 'string') {
        if (record['value'].length > bounds.secretLength) found.lostSecret ??= lostSecretText('length');
        else if (found.secrets.size < mostSecrets) found.secrets.add(record['value']);
      }
    }
  }
  return found;
}
