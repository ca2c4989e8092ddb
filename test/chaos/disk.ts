import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a file named `filler` until nothing more fits on the folder's disk. Only for disks of their own. */
export function fillFolder(path: string): void {
  const chunk = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeFileSync(join(path, 'filler'), chunk, { flag: 'a' });
  } catch {
    // It is full.
  }
}
