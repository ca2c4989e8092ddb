import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentError, InvalidJobError, toError } from '../../../errors.ts';
import type { LogEntry } from '../../../protocol/result.ts';
import { engineVersions } from '../../../protocol/suite-engines.ts';
import type { Suite } from '../../../protocol/suite.ts';
import type { Engine } from '../place/place.ts';
import { codeOf } from '../../../system-errors.ts';
import { readIfThere } from '../../process/read-if-there.ts';

/**
 * Programs that suites run on: Node in several versions, and Bun, with npm, pnpm and yarn, as `node scripts/engines.mjs install`
 * has brought them (docs/suites.md, "Engines").
 */

/** Below a run's home: what is here goes before what the engine's `bin` has, so that a project gets the version that it pins. */
export const ownPrograms = '.package-manager';

const remedy = 'node scripts/engines.mjs install';
const stampName = '.engines-stamp';

/** `engines/` of the package that this program is part of. */
export function packageEngines(): string {
  // From src/script/suite as from dist/script/suite, package.json is three folders up.
  return join(fileURLToPath(new URL('../../../..', import.meta.url)), 'engines');
}

type Found = { stamp: string; engines: Engine[] };
const foundBefore = new Map<string, Found>();

/**
 * The engines that are installed here, the default first. Makes the folders that programs find them by, below `dataFolder`.
 * Quick when it has looked before. Empty = none is installed. Throws AgentError INTERNAL or DISK_FULL.
 */
export function findEngines(dataFolder: string, enginesFolder: string = packageEngines()): Engine[] {
  const packages = join(enginesFolder, 'node_modules');
  // The install's last act; it changes with every install.
  const stamp = readIfThere(join(packages, stampName));
  if (stamp === null) return [];
  const key = `${dataFolder}\0${enginesFolder}`;
  const before = foundBefore.get(key);
  if (before?.stamp === stamp && before.engines.every(({ bin }) => existsSync(bin))) return before.engines;
  try {
    const engines = look(realpathSync(packages), join(dataFolder, 'engines'));
    foundBefore.set(key, { stamp, engines });
    return engines;
  } catch (error: unknown) {
    const full = codeOf(error) === 'ENOSPC';
    throw new AgentError(
      full ? 'DISK_FULL' : 'INTERNAL',
      `suite engines can't be set up: ${toError(error).message}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * The engine that a suite asks for; the first that is there of the default engine when it asks for none. Of a version, what
 * `engineVersions` distinguishes counts: the major of Node, major and minor of Bun. Tells `log` which one runs. Throws
 * InvalidJobError RUNTIME_UNAVAILABLE.
 */
export function chooseEngine(
  engines: readonly Engine[],
  wanted: Suite['engine'],
  log: (level: LogEntry['level'], msg: string) => void = () => undefined,
): Engine {
  const name = wanted?.name ?? 'node';
  const usual = engineVersions[name][0] ?? '';
  const version = (wanted?.version ?? usual).trim().replace(/^v/, '');
  const parts = name === 'node' ? 1 : 2;
  const asked = version.split('.').slice(0, parts);
  const ofName = engines.filter((each) => each.name === name);
  const engine =
    ofName.find((each) => asked.every((part, index) => each.version.split('.')[index] === part)) ??
    // One that asks for none runs on what there is: an image has a single Node.
    (wanted === null ? ofName[0] : undefined);
  if (engine === undefined) {
    const has = engines.map((each) => `${titles[each.name]} ${each.version}`).join(', ');
    throw new InvalidJobError(
      'RUNTIME_UNAVAILABLE',
      has === ''
        ? `this agent has nothing that suites run on; this brings it: ${remedy}`
        : `this agent has no ${titles[name]} ${version.slice(0, 32)}; it has ${has}`,
    );
  }
  const exact = version === engine.version || version.split('.').length <= parts;
  const isOther = wanted === null && engine.version.split('.')[0] !== asked[0];
  log(
    'info',
    isOther
      ? `Engine: ${titles[name]} ${engine.version} (this agent does not have ${titles[name]} ${usual}, the usual one)`
      : exact
        ? `Engine: ${titles[name]} ${engine.version}`
        : `Engine: ${titles[name]} ${engine.version} (${version} was asked for; this is what the agent has of ${asked.join('.')})`,
  );
  return engine;
}

const titles: { readonly [E in Engine['name']]: string } = { node: 'Node', bun: 'Bun' };

/** An engine's own program, as it stands among the packages. */
export type InstalledEngine = Pick<Engine, 'name' | 'version'> & { program: string };

/** What is installed below `enginesFolder`, without making anything; empty = nothing, or not all of it. Throws what fs throws. */
export function installedEngines(enginesFolder: string = packageEngines()): InstalledEngine[] {
  const packages = join(enginesFolder, 'node_modules');
  return existsSync(join(packages, stampName)) ? programsBelow(packages) : [];
}

function programsBelow(packages: string): InstalledEngine[] {
  const own = (name: Engine['name'], folder: string): InstalledEngine[] => {
    const program = join(packages, folder, 'bin', name);
    return existsSync(program) ? [{ name, version: versionOf(join(packages, folder)), program }] : [];
  };
  const { platform, arch } = process;
  const nodes = engineVersions.node.flatMap((major) => own('node', `node-${major}-${platform}-${arch}`));
  const buns = [`bun-${platform}-x64-baseline`, `bun-${platform}-aarch64`];
  return [...nodes, ...buns.flatMap((name) => own('bun', join('@oven', name))).slice(0, 1)];
}

function look(packages: string, folder: string): Engine[] {
  const found = programsBelow(packages);
  const bun = found.find(({ name }) => name === 'bun')?.program ?? null;
  const first = found.find(({ name }) => name === 'node');
  // Tools that Bun can't run are run by Node, so there is no Bun without one.
  if (first === undefined) return [];
  return found.map(({ name, version, program }) => {
    const node = name === 'node' ? program : first.program;
    const bin = makeBin(join(folder, `${name}-${version}`), programs({ packages, node, bun }));
    // Links lead from one to the other.
    return { name, version, bin, readable: [bin, packages] };
  });
}

/** Contents of an engine's `bin` by file name: where a link leads, or the text of a program. */
type Programs = { [name: string]: { link: string } | { text: string } };

function programs(parts: { packages: string; node: string; bun: string | null }): Programs {
  const { packages, node, bun } = parts;
  const tool = (name: string, file: string, settings = '') => ({
    text: wrapper(name, `${settings}exec ${quote(node)} ${quote(join(packages, file))} "$@"`),
  });
  // Which version runs is decided here, not by pnpm, which would fetch the pinned one whenever it is called.
  const pnpm =
    'export npm_config_manage_package_manager_versions=false npm_config_package_manager_strict=false\n';
  return {
    node: { link: node },
    npm: tool('npm', 'npm/bin/npm-cli.js'),
    npx: tool('npx', 'npm/bin/npx-cli.js'),
    pnpm: tool('pnpm', 'pnpm/bin/pnpm.cjs', pnpm),
    pnpx: tool('pnpx', 'pnpm/bin/pnpx.cjs', pnpm),
    yarn: tool('yarn', 'yarn/bin/yarn.js'),
    yarnpkg: tool('yarnpkg', 'yarn/bin/yarn.js'),
    ...Object.fromEntries(
      Object.values(modernYarns).map((name) => [name, tool(name, `${name}/bin/yarn.js`)]),
    ),
    ...(bun === null ? {} : { bun: { link: bun }, bunx: { link: bun } }),
  };
}

/**
 * Yarn 3 and 4, which are another program by the same name: none of them takes the lock file of another one as it is, so there
 * is one for each version of lock files (`__metadata.version`); packages of engines/ have the same names.
 */
export const modernYarns: { readonly [lockVersion: string]: string } = {
  6: 'yarn-lock-6',
  8: 'yarn-lock-8',
  9: 'yarn-lock-9',
  10: 'yarn-lock-10',
};

function wrapper(name: string, command: string): string {
  const own = `"$HOME/${ownPrograms}/bin/${name}"`;
  return `#!/bin/sh\nif [ -x ${own} ]; then exec ${own} "$@"; fi\n${command}\n`;
}

/** A folder with these programs, beside `path`, which its content is a part of: what is in use is never changed. */
function makeBin(path: string, contents: Programs): string {
  const hash = createHash('sha256').update(JSON.stringify(contents)).digest('hex').slice(0, 12);
  const bin = `${path}-${hash}`;
  if (existsSync(bin)) return bin;
  const draft = join(path, '..', `.${basename(path)}-${randomUUID()}`);
  mkdirSync(draft, { recursive: true });
  try {
    for (const [name, content] of Object.entries(contents)) {
      if ('link' in content) symlinkSync(content.link, join(draft, name));
      else writeFileSync(join(draft, name), content.text, { mode: 0o755 });
    }
    renameSync(draft, bin);
  } catch (error: unknown) {
    rmSync(draft, { recursive: true, force: true });
    // Another process was quicker.
    if (!existsSync(bin)) throw error;
  }
  return bin;
}

function versionOf(packageFolder: string): string {
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: unknown;
  };
  if (typeof version !== 'string') throw new Error(`${packageFolder} names no version`);
  return version;
}

/** As one word of a shell's command. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
