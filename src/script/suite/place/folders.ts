import { randomBytes } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { lstat, mkdir, readdir, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import { AgentError, toError } from '../../../errors.ts';
import { isRefusedByDisk } from '../../process/full-disk.ts';
import { reasonOf } from '../../../protocol/reasons.ts';
import { outsideLink, outsideName, outsidePrefix } from '../../process/outside-folder.ts';
import { removeTree } from '../../process/remove-tree.ts';
import { SuiteFailed, type SuitePlace } from './place.ts';
import { hourMs } from '../../../durations.ts';

/** Chromium creates a socket 56 characters below its temporary files, and socket paths are limited to 107 bytes. */
const maxTemporaryPath = 50;
/** The first writable one is used. Not /tmp if possible, because programs see their own folder there. */
const temporaryParents = ['/var/tmp', tmpdir()];
/** No suite runs this long. */
const leftAfterMs = 3 * hourMs;

/**
 * Creates the folders of one run below `workDir`, which only this run may use. Throws SuiteFailed BUNDLE_INVALID if
 * `workingDir` leaves the bundle; AgentError DISK_FULL or INTERNAL.
 */
export async function makePlace(workDir: string, workingDir: string): Promise<SuitePlace> {
  const below = normalize(workingDir);
  if (isAbsolute(workingDir) || workingDir.includes('\0') || below.split('/').includes('..')) {
    const message = `workingDir leaves the bundle: ${JSON.stringify(workingDir)}; use a folder relative to its root`;
    throw new SuiteFailed(reasonOf('BUNDLE_INVALID', message));
  }
  try {
    const root = await realpath(workDir);
    const project = join(root, 'project');
    const place: SuitePlace = {
      root,
      project,
      working: join(project, below),
      home: join(root, 'home'),
      temporary: temporaryFolder(root),
      report: join(root, 'report'),
    };
    // First, so that the cleanup of a dead run finds these folders as well.
    if (!place.temporary.startsWith(`${root}/`)) await symlink(place.temporary, join(root, outsideLink));
    for (const path of [place.project, place.home, place.temporary, place.report]) {
      await mkdir(path, { recursive: true, mode: 0o700 });
    }
    // Playwright searches upwards for this file; the folders above belong to the agent and cannot be read.
    await writeFile(join(root, 'tsconfig.json'), '{}\n');
    return place;
  } catch (error: unknown) {
    throw folderError(error);
  }
}

/** Throws SuiteFailed BUNDLE_INVALID if the unpacked bundle has no such folder. */
export async function checkWorking(place: SuitePlace): Promise<void> {
  const found = await stat(place.working).catch(() => null);
  const real = await realpath(place.working).catch(() => '');
  const inside = real === place.project || real.startsWith(`${place.project}/`);
  if (found !== null && found.isDirectory() && inside) return;
  const name = place.working.slice(place.project.length + 1);
  const message = `workingDir ${JSON.stringify(name)} is not a folder of the bundle`;
  throw new SuiteFailed(reasonOf('BUNDLE_INVALID', message));
}

/** Removes a run's files outside of its workDir, which the owner of the workDir removes. */
export async function removePlace(place: SuitePlace): Promise<void> {
  if (!place.temporary.startsWith(`${place.root}/`)) await removeTree(place.temporary).catch(() => undefined);
}

/**
 * Removes temporary files of suites whose agent was killed and whose run nobody found. It decides by age, because other
 * agents may share them.
 */
export async function removeLeftTemporary(): Promise<void> {
  for (const parent of temporaryParents) {
    for (const name of await readdir(parent).catch(() => [])) {
      if (!outsideName.test(name)) continue;
      const path = join(parent, name);
      const found = await lstat(path).catch(() => null);
      if (found === null || Date.now() - found.mtimeMs < leftAfterMs) continue;
      await removeTree(path).catch(() => undefined);
    }
  }
}

function temporaryFolder(root: string): string {
  const below = join(root, 'tmp');
  if (Buffer.byteLength(below) <= maxTemporaryPath) return below;
  const parent = temporaryParents.find(isWritable) ?? tmpdir();
  return join(parent, `${outsidePrefix}${process.pid}-${randomBytes(4).toString('hex')}`);
}

function folderError(error: unknown): Error {
  const { message } = toError(error);
  const full = isRefusedByDisk(error);
  return new AgentError(full ? 'DISK_FULL' : 'INTERNAL', `the folders of a suite: ${message}`, {
    cause: error,
  });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
