import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPages } from './build-pages.ts';

const root = join(import.meta.dirname, '..', '..');
const stamps = ['.setup-stamp', '.test-stamp'].map((name) => join(root, 'dist', name));
const lock = join(root, 'build', '.test-build-lock');
const staleMs = 120_000;

/** Compiles src to dist where dist is out of date, and returns the path of the program. Safe in parallel test files. */
export async function builtProgram(): Promise<string> {
  await locked(() => {
    if (newestSource(join(root, 'src')) <= Math.max(...stamps.map(timeOf))) return;
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    for (const settings of ['tsconfig.build.json', 'tsconfig.types.json']) {
      const done = spawnSync(process.execPath, [compiler, '-p', settings], { cwd: root, encoding: 'utf8' });
      if (done.status !== 0) throw new Error(`the program does not compile:\n${done.stdout}${done.stderr}`);
    }
    const bundled = spawnSync(
      process.execPath,
      [join(root, 'scripts', 'bundle-child.mjs'), join(root, 'dist')],
      {
        encoding: 'utf8',
      },
    );
    if (bundled.status !== 0) throw new Error(`the program of scripts can't be bundled:\n${bundled.stderr}`);
    buildPages(join(root, 'dist', 'service', 'pages', 'browser'));
    writeFileSync(join(root, 'dist', '.test-stamp'), '');
  });
  return join(root, 'dist', 'main.js');
}

function newestSource(folder: string): number {
  return Math.max(
    0,
    ...readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return newestSource(path);
      return /\.(ts|css|html)$/.test(entry.name) ? timeOf(path) : 0;
    }),
  );
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** One test file at a time: making a folder succeeds for one process only. */
async function locked(work: () => void): Promise<void> {
  mkdirSync(join(root, 'build'), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      if (Date.now() - timeOf(lock) > staleMs) rmdirSync(lock);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  try {
    work();
  } finally {
    rmdirSync(lock);
  }
}
