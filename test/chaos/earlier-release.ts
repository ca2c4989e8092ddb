import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The program of an earlier release, built from git's history, for upgrades from it. */

const root = process.cwd();
/** Before the first release: the last commit without assignments. */
const beforeAssignments = 'e552035b';

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });

/** The commit of the newest tag of a release, or the one that CHAOS_RELEASE names; null = git does not have it. */
export function earlierCommit(): string | null {
  const tagged = git('describe', '--tags', '--match', 'v[0-9]*', '--abbrev=0', 'HEAD^').stdout.trim();
  const wanted = process.env['CHAOS_RELEASE'] ?? (tagged === '' ? beforeAssignments : tagged);
  const found = git('rev-parse', '--verify', '--quiet', `${wanted}^{commit}`).stdout.trim();
  return found === '' ? null : found;
}

/** Builds the program of that commit with today's dependencies, once for all runs. Returns the path of its main file. */
export function buildEarlier(commit: string): string {
  const folder = join(root, 'build', 'chaos', `release-${commit.slice(0, 12)}`);
  const main = join(folder, 'dist', 'main.js');
  if (existsSync(main)) return main;
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  const archive = execFileSync('git', ['archive', '--format=tar', commit], {
    cwd: root,
    maxBuffer: 1024 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', fresh], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(fresh, 'node_modules'));
  const steps = [
    [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json', '--outDir', 'dist'],
    [join('scripts', 'bundle-child.mjs'), join(fresh, 'dist')],
    [join('scripts', 'build-pages.mjs'), join(fresh, 'dist', 'service', 'pages', 'browser')],
  ];
  for (const args of steps) {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: fresh, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the program of ${commit} cannot be built:\n${stdout}${stderr}`);
  }
  // The native parts are the same, or are not needed.
  const native = join(root, 'build', 'native');
  if (existsSync(native)) {
    mkdirSync(join(fresh, 'build'), { recursive: true });
    symlinkSync(native, join(fresh, 'build', 'native'));
  }
  writeFileSync(join(fresh, 'dist', '.release'), `${commit}\n`);
  renameSync(fresh, folder);
  return main;
}
