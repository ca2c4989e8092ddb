import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { LogEntry } from '../../../protocol/result.ts';
import { reasonOf } from '../../../protocol/reasons.ts';
import type { Suite } from '../../../protocol/suite.ts';
import { modernYarns, ownPrograms } from './engines.ts';
import { SuiteFailed, type Engine, type PackageManager, type SuitePlace } from '../place/place.ts';
import { readIfThere } from '../../process/read-if-there.ts';

/** Finds which package manager a project uses, in which version, and how it installs exactly the lock file's packages. */

type Name = PackageManager['name'];

export type ChosenManager = PackageManager & {
  /**
   * The folder in which the manager's own install runs: that of the lock file. installCommand runs in the working
   * folder.
   */
  folder: string;
  /** The engine's program (`modernYarns`) that `yarn` must be; null = not Yarn, or Yarn 1. */
  modernYarn: string | null;
  /** The package, with version, that must be fetched first, because the agent has another major version. */
  fetch: string | null;
};

/**
 * Order for several lock files in one folder if package.json does not decide: first those that are never created by
 * accident.
 */
const lockFiles: readonly (readonly [file: string, name: Name])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['npm-shrinkwrap.json', 'npm'],
  ['package-lock.json', 'npm'],
];
export const lockFileNames: readonly string[] = lockFiles.map(([file]) => file);

/** Major versions in `engines/` (engines/package.json); it has two of Yarn. */
const ownMajors: { readonly [N in Name]: readonly number[] } = {
  npm: [11],
  pnpm: [10],
  yarn: [1, 3, 4],
  bun: [1],
};

/**
 * Which release wrote a lock file that contains only its own version: `lockfileVersion` of pnpm, `__metadata.version`
 * of Yarn.
 */
const pnpmByLock: { readonly [major: string]: string | null } = { 5: '7.33.7', 6: '8.15.9', 9: null };
const yarnByLock: { readonly [version: string]: string } = { 4: '2.4.2', 5: '3.1.1' };
const newestYarn = '10';

/**
 * The package manager of a suite: from the lock file in the working folder or its nearest parent, up to the bundle's
 * root, otherwise from the program that installCommand calls. Throws SuiteFailed BUNDLE_INVALID if neither decides.
 */
export function choosePackageManager(options: {
  place: SuitePlace;
  suite: Pick<Suite, 'installCommand'>;
  engine: Engine;
  log?: (level: LogEntry['level'], msg: string) => void;
}): ChosenManager {
  const { place, engine, log = () => undefined } = options;
  const installCommand = options.suite.installCommand?.trim() || null;
  const pinned = pinnedManager(place);
  const lock = findLock(place, { pinned: pinned?.name ?? commandName(installCommand), log });
  if (lock === null && installCommand === null) throw noLockFile(pinned?.name ?? 'npm');

  const name = lock?.name ?? commandName(installCommand) ?? pinned?.name ?? 'npm';
  const folder = lock === null ? place.working : dirname(lock.path);
  const text = lock === null || lock.path.endsWith('.lockb') ? '' : readFileSync(lock.path, 'utf8');
  const { modern, ...versions } = versionOf(name, { pinned, text, folder });
  const manager: ChosenManager = {
    name,
    lockFile: lock === null ? null : relative(place.project, lock.path),
    install: installCommand ?? frozenInstall(name, modern),
    exec: engine.name === 'bun' ? 'bunx --bun' : execs[name],
    folder,
    ...versions,
  };
  log(
    'info',
    `Package manager: ${name}${manager.version === null ? '' : ` ${manager.version}`}` +
      (manager.lockFile === null ? ', without a lock file' : ` (${manager.lockFile})`),
  );
  return manager;
}

const execs: { readonly [N in Name]: string } = { npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' };

/** Development dependencies are included, because the tests need them. */
function frozenInstall(name: Name, modern: boolean): string {
  switch (name) {
    case 'npm':
      return 'npm ci --include=dev --no-audit --no-fund';
    case 'pnpm':
      return 'pnpm install --frozen-lockfile --prod=false';
    case 'yarn':
      return modern
        ? 'yarn install --immutable'
        : 'yarn install --frozen-lockfile --non-interactive --production=false';
    case 'bun':
      return 'bun install --frozen-lockfile';
  }
}

/** The command that creates each manager's lock file without an install, for a message. */
const lockCommands: { readonly [N in Name]: string } = {
  npm: 'npm install --package-lock-only',
  pnpm: 'pnpm install --lockfile-only',
  yarn: 'yarn install',
  bun: 'bun install',
};

function noLockFile(name: Name): SuiteFailed {
  return new SuiteFailed(
    reasonOf(
      'BUNDLE_INVALID',
      `the code bundle has no lock file (${lockFileNames.join(', ')}): run "${lockCommands[name]}" in the project and create the ` +
        'bundle again, or give the check an installCommand',
    ),
  );
}

type Pinned = { name: Name; version: string | null };

/** The nearest lock files, from the working folder up to the bundle's root; of several in one folder, the preferred one. */
function findLock(
  place: SuitePlace,
  options: { pinned: Name | null; log: (level: LogEntry['level'], msg: string) => void },
): { path: string; name: Name } | null {
  for (const folder of foldersUpwards(place)) {
    const here = lockFiles.filter(([file]) => existsSync(join(folder, file)));
    const [first] = here;
    if (first === undefined) continue;
    const chosen = here.find(([, name]) => name === options.pinned) ?? first;
    if (new Set(here.map(([, name]) => name)).size > 1)
      options.log(
        'warn',
        `Several lock files (${here.map(([file]) => file).join(', ')}): ${chosen[0]} is used; ` +
          'set the field packageManager in package.json to choose one',
      );
    return { path: join(folder, chosen[0]), name: chosen[1] };
  }
  return null;
}

function foldersUpwards(place: SuitePlace): string[] {
  const below = relative(place.project, place.working).split(sep).filter(Boolean);
  return below
    .map((_, index) => join(place.project, ...below.slice(0, below.length - index)))
    .concat(place.project);
}

/** The field `packageManager` of the nearest package.json that has one. */
function pinnedManager(place: SuitePlace): Pinned | null {
  for (const folder of foldersUpwards(place)) {
    const field = fieldOf(join(folder, 'package.json'), 'packageManager');
    const match = /^(npm|pnpm|yarn|bun)@(\d+\.\d+\.\d+(?:-[\w.]+)?)?/.exec(field ?? '');
    if (match !== null) return { name: match[1] as Name, version: match[2] ?? null }; // the pattern matches only these names
  }
  return null;
}

function fieldOf(file: string, field: string): string | null {
  try {
    const value = (JSON.parse(readFileSync(file, 'utf8')) as { [name: string]: unknown } | null)?.[field];
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** The first manager that a shell command calls: `FOO=1 pnpm i`, `cd app && yarn`. */
function commandName(command: string | null): Name | null {
  const called =
    /(?:^|[;&|(]|\s&&)\s*(?:\w+=\S*\s+)*(npm|npx|pnpm|pnpx|yarn|yarnpkg|bun|bunx)(?=\s|$|[;&|)])/;
  const program = called.exec(command ?? '')?.[1];
  if (program === undefined) return null;
  return (
    (Object.keys(ownMajors) as Name[]).find(
      (name) => program.startsWith(name) || program === `${name.slice(0, -1)}x`,
    ) ?? null
  ); // its keys are the names
}

/**
 * For pnpm 11 and newer. A tree from the cache was moved, which must not cause a new install before a test runs. The
 * version was decided here, so it need not be in the lock file.
 */
const pnpmSettings = { pnpm_config_verify_deps_before_run: 'false', pnpm_config_pm_on_fail: 'ignore' };

type Version = Pick<ChosenManager, 'version' | 'fetch' | 'modernYarn' | 'env'> & { modern: boolean };

function versionOf(name: Name, from: { pinned: Pinned | null; text: string; folder: string }): Version {
  const pinned = from.pinned?.name === name ? from.pinned.version : null;
  if (name === 'yarn') return yarnVersion(pinned, from);
  const byLock = name === 'pnpm' ? pnpmByLock[/^lockfileVersion: '?(\d+)/m.exec(from.text)?.[1] ?? ''] : null;
  const version = pinned ?? byLock ?? null;
  const env = name === 'pnpm' ? pnpmSettings : {};
  return { version, fetch: toFetch(name, version), modern: false, modernYarn: null, env };
}

function yarnVersion(pinned: string | null, from: { text: string; folder: string }): Version {
  const settings = readIfThere(join(from.folder, '.yarnrc.yml'));
  const lockVersion = /^__metadata:\s*\n\s+version: (\d+)/m.exec(from.text)?.[1] ?? null;
  const classicLock = /^# yarn lockfile v1$/m.test(from.text);
  const pinnedMajor = majorOf(pinned);
  // If the bundle has the project's own copy, whichever Yarn is called runs that copy.
  const ownCopy = /^yarnPath:\s*["']?([^"'\s]+)/m.exec(settings ?? '')?.[1];
  const copyThere = ownCopy !== undefined && existsSync(join(from.folder, ownCopy));
  const copyVersion = /yarn-(\d+\.\d+\.\d+)\.c?js$/.exec(ownCopy ?? '')?.[1] ?? null;
  const modern = classicLock
    ? false
    : lockVersion !== null ||
      (pinnedMajor === null ? ownCopy !== undefined || settings !== null : pinnedMajor > 1);
  const env: { [name: string]: string } = {};
  if (!copyThere && ownCopy !== undefined) env['YARN_IGNORE_PATH'] = '1';
  // With Plug'n'Play the packages stay in Yarn's cache, which must therefore be a part of the project.
  const linker = /^nodeLinker:\s*["']?([\w-]+)/m.exec(settings ?? '')?.[1] ?? 'pnp';
  if (modern && linker === 'pnp') env['YARN_ENABLE_GLOBAL_CACHE'] = 'false';

  const fits = (version: string | null) => version !== null && (majorOf(version) !== 1) === modern;
  const named = [copyVersion, pinned].find(fits) ?? null;
  const version = named ?? (modern ? (yarnByLock[lockVersion ?? ''] ?? null) : null);
  // Without a lock file, any release of the same major works.
  const wanted = lockVersion ?? (majorOf(version) === 3 ? '6' : newestYarn);
  const here = modern ? (modernYarns[wanted] ?? null) : null;
  const fetch =
    copyThere || (here !== null && lockVersion !== null)
      ? null
      : lockVersion === null || version === null
        ? toFetch('yarn', version)
        : `${modernPackage}@${version}`;
  return {
    version,
    fetch,
    modern,
    modernYarn: modern && fetch === null ? (here ?? modernYarns[newestYarn] ?? null) : null,
    env,
  };
}

const modernPackage = '@yarnpkg/cli-dist';

function toFetch(name: Name, version: string | null): string | null {
  const major = majorOf(version);
  if (major === null || ownMajors[name].includes(major)) return null;
  return `${name === 'yarn' ? modernPackage : name}@${version}`;
}

function majorOf(version: string | null | undefined): number | null {
  const major = Number.parseInt(version ?? '', 10);
  return Number.isNaN(major) ? null : major;
}

/** The shell command that fetches a manager's own version into the run's home, where the engine's programs find it. */
export function fetchCommand(manager: ChosenManager): string | null {
  if (manager.fetch === null) return null;
  // The project's registries and their keys apply here, too, as for its packages.
  const settings = existsSync(join(manager.folder, '.npmrc'))
    ? ' --userconfig .npmrc --globalconfig "$HOME/.npmrc"'
    : '';
  return `npm install --global --prefix "$HOME/${ownPrograms}" --no-audit --no-fund${settings} '${manager.fetch}'`;
}
