import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWorkDirs, type WorkDirs } from '../../agent/folders/work-dir.ts';

/** Folders of attempts without scripts are in the system's temporary folder, so these attempts need no data directory. */
export function temporaryWorkDirs(): WorkDirs {
  return {
    removeDead: () => Promise.resolve(),
    make: () => mkdtemp(join(tmpdir(), 'location-agent-run-')),
    remove: (folder) => rm(folder, { recursive: true, force: true }),
    close: () => Promise.resolve(),
  };
}

/** Folders of attempts with scripts are in the data directory, as in a daemon. Removes the folders of dead agents first. */
export async function openWorkDirs(dataDir: string): Promise<WorkDirs> {
  const workDirs = createWorkDirs(join(dataDir, 'runs'), randomUUID());
  await workDirs.removeDead();
  return workDirs;
}
