import { promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';
import { isOwnerGone, ownerFiles } from '../folders/owner.ts';
import type { StoredArtifact } from './stored-artifact.ts';

/** Extension of a file with the bytes of an artifact. */
export const binary = '.bin';
/** Extension of the JSON file that describes an artifact. */
export const about = '.about';
const adoptedPrefix = 'from-';

/** The folders in `root` of all agents except the one of `home`. */
export async function foldersOfOthers(root: string, home: string): Promise<{ name: string; path: string }[]> {
  const entries = await fs.readdir(root, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, path: join(root, name) }))
    .filter(({ path }) => path !== home);
}

/** Moves the artifacts of dead agents to `home`, this agent's folder; `onAdopted` is called after each move. */
export async function adoptDeadFolders(
  folders: readonly { name: string; path: string }[],
  home: string,
  onAdopted: (artifact: StoredArtifact) => void,
): Promise<void> {
  const clock = join(home, ownerFiles.alive);
  for (const { name, path } of folders) {
    if (!(await isOwnerGone(path, clock, holdsArtifacts).catch(() => false))) continue;
    // Another agent may adopt at the same moment; only one rename of a folder succeeds.
    const target = join(home, adoptedPrefix + name);
    const isMoved = await fs.rename(path, target).then(
      () => true,
      () => false,
    );
    if (isMoved) await flatten(target, home, onAdopted);
  }
}

/** Moves the artifacts in a folder and its subfolders to `home`, and removes the folder. */
async function flatten(
  folder: string,
  home: string,
  onAdopted: (artifact: StoredArtifact) => void,
): Promise<void> {
  const entries = await fs.readdir(folder, { withFileTypes: true });
  for (const entry of entries) {
    if (entry.isDirectory()) await flatten(join(folder, entry.name), home, onAdopted);
  }
  for (const { name } of entries.filter((entry) => entry.name.endsWith(about))) {
    const artifact = await read(join(folder, name), home);
    // Move the bytes first: a description implies that the bytes exist.
    const bytes = name.slice(0, -about.length) + binary;
    // An adopter that was killed between the two moves has left the bytes one folder above.
    for (const source of [join(folder, bytes), join(dirname(folder), bytes)]) {
      if (artifact === null || (await sizeOf(source)) !== artifact.size) continue;
      await fs.rename(source, artifact.path);
      await fs.rename(join(folder, name), join(home, name));
      onAdopted(artifact);
      break;
    }
  }
  await fs.rm(folder, { recursive: true, force: true });
}

function holdsArtifacts(names: readonly string[]): boolean {
  return names.some((name) => name.endsWith(about) || name.startsWith(adoptedPrefix));
}

/** Size of a file in bytes; null if it does not exist. */
export async function sizeOf(path: string): Promise<number | null> {
  return fs.stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

/** Reads the description of an artifact; null if it is damaged. The bytes will be in `home`. */
async function read(file: string, home: string): Promise<StoredArtifact | null> {
  try {
    const found = JSON.parse(await fs.readFile(file, 'utf8')) as Partial<StoredArtifact>; // checked below
    const { id, jobId, attempt, leaseToken, name, type, contentType, size, sha256, createdAt } = found;
    const texts = [jobId, leaseToken, name, type, contentType, sha256];
    if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id)) return null;
    if (texts.some((text) => typeof text !== 'string')) return null;
    if (![attempt, size, createdAt].every((number) => Number.isSafeInteger(number))) return null;
    return { ...(found as StoredArtifact), path: join(home, id + binary) }; // every field has been checked
  } catch {
    return null;
  }
}
