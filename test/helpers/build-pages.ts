import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** Builds the files that browsers load from the service into this folder. */
export function buildPages(folder: string): void {
  const script = join(root, 'scripts', 'build-pages.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the pages cannot be built:\n${stderr}`);
}

/** The folder where a service that runs from src/ looks for these files. */
export const pagesFolder = join(root, 'build', 'pages');
