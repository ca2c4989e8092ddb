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
import { AgentError, InvalidJobError, toError } from '../../../errors.ts';
import type { LogEntry } from '../../../protocol/result.ts';
import { engineVersions } from '../../../protocol/suite-engines.ts';
import type { Suite } from '../../../protocol/suite.ts';
import type { Engine } from '../place/place.ts';
import { codeOf } from '../../../system-errors.ts';
import { enginesRemedy, ownPackage } from './install-command.ts';
import { readIfThere } from '../../process/read-if-there.ts';
import { shortened } from '../../../shortened.ts';

/**
 * Engines of suites: Node in several versions, and Bun, with npm, pnpm and yarn, as installed by `node
 * scripts/engines.mjs install` (docs/suites/dependencies.md, "Engines").
 */

/** Below a run's home: programs here precede the engine's `bin`, so that a project gets the version that it pins. */
export const ownPrograms = '.package-manager';

const stampName = '.engines-stamp';

/** `engines/` of this program's package. */
export function packageEngines(): string {
  return join(ownPackage, 'engines');
}

type Found = { stamp: string; engines: Engine[] };
const foundBefore = new Map<string, Found>();

/**
 * The engines that are installed here, the default first. Creates the folders in which programs find them, below
 * `dataFolder`. Later calls are fast. Empty = none is installed. Throws AgentError INTERNAL or DISK_FULL.
 */
export function findEngines(dataFolder: string, enginesFolder: string = packageEngines()): Engine[] {
  const packages = join(enginesFolder, 'node_modules');
  // The install writes this file last; it changes with every install.
  const stamp = readIfThere(join(packages, stampName));
  if (stamp === null) return [];
  const key = `${dataFolder}\0${enginesFolder}`;
  const before = foundBefore.get(key);
  if (before?.stamp === stamp && before.engines.every(({ bin }) => existsSync(bin))) return before.engines;
  try {
    const engines = enginesIn(realpathSync(packages), join(dataFolder, 'engines'));
    foundBefore.set(key, { stamp, engines });
    return engines;
  } catch (error: unknown) {
    const full = codeOf(error) === 'ENOSPC';
    throw new AgentError(
      full ? 'DISK_FULL' : 'INTERNAL',
      `suite engines cannot be set up: ${toError(error).message}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * The engine that a suite requests; if it requests none, the first installed version of the default engine. Versions
 * are compared as in `engineVersions`: the major of Node, major and minor of Bun. Logs which engine runs. Throws
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
    // A suite without an engine runs on what is installed: an image has a single Node.
    (wanted === null ? ofName[0] : undefined);
  if (engine === undefined) {
    const has = engines.map((each) => `${titles[each.name]} ${each.version}`).join(', ');
    throw new InvalidJobError(
      'RUNTIME_UNAVAILABLE',
      has === ''
        ? `this agent has no engine for suites (remedy: ${enginesRemedy()})`
        : `this agent has no ${titles[name]} ${shortened(version, 32)}; it has ${has}`,
    );
  }
  const exact = version === engine.version || version.split('.').length <= parts;
  const isOther = wanted === null && engine.version.split('.')[0] !== asked[0];
  log(
    'info',
    isOther
      ? `Engine: ${titles[name]} ${engine.version} (this agent does not have the default, ${titles[name]} ${usual})`
      : exact
        ? `Engine: ${titles[name]} ${engine.version}`
        : `Engine: ${titles[name]} ${engine.version} (${version} was requested; the agent has this version of ${asked.join('.')})`,
  );
  return engine;
}

const titles: { readonly [E in Engine['name']]: string } = { node: 'Node', bun: 'Bun' };

/** The path of an engine's own program among the packages. */
export type InstalledEngine = Pick<Engine, 'name' | 'version'> & { program: string };

/**
 * The engines below `enginesFolder`, without creating anything; empty = none, or an incomplete install. Throws errors
 * of fs.
 */
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

function enginesIn(packages: string, folder: string): Engine[] {
  const found = programsBelow(packages);
  const bun = found.find(({ name }) => name === 'bun')?.program ?? null;
  const first = found.find(({ name }) => name === 'node');
  // Node runs the tools that Bun cannot run, so every Bun needs a Node.
  if (first === undefined) return [];
  return found.map(({ name, version, program }) => {
    const node = name === 'node' ? program : first.program;
    const bin = makeBin(join(folder, `${name}-${version}`), programs({ packages, node, bun }));
    // The packages link from one to the other.
    return { name, version, bin, readable: [bin, packages] };
  });
}

/** Contents of an engine's `bin` by file name: a link's target, or a program's text. */
type Programs = { [name: string]: { link: string } | { text: string } };

function programs(parts: { packages: string; node: string; bun: string | null }): Programs {
  const { packages, node, bun } = parts;
  const tool = (name: string, file: string, settings = '') => ({
    text: wrapper(name, `${settings}exec ${quote(node)} ${quote(join(packages, file))} "$@"`),
  });
  // This code decides which version runs. pnpm itself would fetch the pinned one whenever it is called.
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
 * Yarn 3 and 4, which are different programs with the same name. None of them accepts another one's lock file
 * unchanged, so there is one for each version of lock files (`__metadata.version`); packages of engines/ have the same
 * names.
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

/**
 * A folder with these programs next to `path`. Its content is part of its name, because folders in use must never
 * change.
 */
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
    // Another process was faster.
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

/** Quotes a text as one word of a shell command. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
