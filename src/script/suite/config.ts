import { copyFile, lstat, mkdir, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../protocol/reasons.ts';
import type { Suite } from '../../protocol/suite.ts';
import { childFile } from '../process/child-file.ts';
import type { SuiteSettings } from '../child/suite/format.ts';
import { readOwnFile } from '../playwright/files.ts';
import { defaultConfigs, findConfigs, moduleName } from './config-search.ts';
import { checkWorking } from './place/folders.ts';
import { SuiteFailed, type SuitePlace } from './place/place.ts';
import { fieldsOf, parsedJson } from '../../json-values.ts';

export type InjectedConfig = {
  /** Relative to the bundle's root: the configs that were replaced. */
  configs: string[];
  /** Variables for the test command. */
  env: { [name: string]: string };
};

const helpersFolder = fileURLToPath(new URL('../../../runtimes/helpers', import.meta.url));

/**
 * Applies the agent's settings to every Playwright config of a run's private copy of a project. Each config is renamed
 * within its folder, and a file with its name and module kind replaces it. The modules that it loads, the reporter and
 * the helpers package are copied to `node_modules` in the run's root, where Node finds them from the project. Rejects
 * with SuiteFailed if the config that the check names does not exist.
 */
export async function injectConfig(options: {
  place: SuitePlace;
  suite: Pick<Suite, 'configPath' | 'testCommand'>;
}): Promise<InjectedConfig> {
  const { place, suite } = options;
  // The install may have left links to other folders there.
  await checkWorking(place);
  const files = await installModules(place);
  const named = suite.configPath === null ? null : await namedConfig(suite.configPath, place);
  const found = await findConfigs({
    project: place.project,
    working: place.working,
    command: suite.testCommand,
  });
  const configs = [...new Set([...(named === null ? [] : [named]), ...found])];
  for (const config of configs) await putInPlace(config, files.overlay);
  const ownDefault = defaultConfigs.some((name) => configs.includes(join(place.working, name)));
  if (!ownDefault && named === null) {
    // A project without a config: Playwright would run with its defaults.
    const config = join(place.working, 'playwright.config.cjs');
    await writeFile(config, wrapperOf({ kind: 'commonjs', given: null, overlay: files.overlay }), {
      flag: 'wx',
    });
    configs.push(config);
  }
  return {
    configs: configs.map((config) => relative(place.project, config)),
    env: {
      PW_TEST_REPORTER: files.reporter,
      // Otherwise Playwright would serve a failed run's report until somebody stops it.
      PLAYWRIGHT_HTML_OPEN: 'never',
      PW_TEST_HTML_REPORT_OPEN: 'never',
    },
  };
}

async function installModules(place: SuitePlace): Promise<{ overlay: string; reporter: string }> {
  const scope = join(place.root, 'node_modules', '@location-agent');
  const modules = join(scope, 'suite');
  const helpers = join(scope, 'helpers');
  await mkdir(modules, { recursive: true });
  await mkdir(helpers, { recursive: true });
  await mkdir(place.report, { recursive: true });
  for (const name of ['package.json', 'index.js', 'index.d.ts'])
    await copyFile(join(helpersFolder, name), join(helpers, name));
  const overlay = join(modules, 'suite-overlay.cjs');
  const reporter = join(modules, 'suite-reporter.cjs');
  await copyFile(bundled('suite/overlay'), overlay);
  await copyFile(bundled('suite/reporter'), reporter);
  const settings: SuiteSettings = {
    reportFolder: place.report,
    helpers: join(helpers, 'index.js'),
    reporter,
    workers: 4,
    retries: 2,
  };
  await writeFile(join(modules, 'settings.json'), JSON.stringify(settings));
  return { overlay, reporter };
}

const bundled = (name: string): string => childFile(name).replace(/\.js$/, '.cjs');

/** The config that the check names: a file, or a folder with a default config. Null = the folder has none. */
async function namedConfig(configPath: string, place: SuitePlace): Promise<string | null> {
  const path = resolve(place.working, configPath);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  // The agent itself moves the file, so it must not follow a link that the install created.
  const folder = await realpath(isFolder ? path : dirname(path)).catch(() => '');
  const isInside = folder === place.project || folder.startsWith(`${place.project}/`);
  if (!isInside || (await lstat(path).catch(() => null)) === null) {
    throw wrongPath(
      `the bundle has no file ${configPath} in the working folder; correct the check's configPath or include the file`,
    );
  }
  if (!isFolder && !moduleName.test(path))
    throw wrongPath(
      `${configPath} is not a Playwright config: name a .ts, .js, .mts, .mjs, .cts or .cjs file`,
    );
  if (!isFolder) return path;
  for (const name of defaultConfigs) {
    if ((await lstat(join(folder, name)).catch(() => null))?.isFile()) return join(folder, name);
  }
  return null;
}

const wrongPath = (message: string): SuiteFailed =>
  new SuiteFailed(reasonOf('SCRIPT_INVALID', `configPath: ${message}`));

async function putInPlace(config: string, overlay: string): Promise<void> {
  const given = await freeName(config);
  const kind = await moduleKind(config);
  // A link is moved as a link and keeps its target.
  await rename(config, given);
  await writeFile(config, wrapperOf({ kind, given: basename(given), overlay }), { flag: 'wx' });
}

async function freeName(config: string): Promise<string> {
  for (let count = 1; ; count++) {
    const mark = count === 1 ? '.as-given' : `.as-given-${count}`;
    const path = config.replace(/(\.[cm]?[jt]s)$/, `${mark}$1`);
    if ((await lstat(path).catch(() => null)) === null) return path;
  }
}

/** How Playwright loads a config: by its ending, otherwise by the `type` of the nearest package.json, in whatever folder. */
async function moduleKind(config: string): Promise<'module' | 'commonjs'> {
  if (/\.m[jt]s$/.test(config)) return 'module';
  if (/\.c[jt]s$/.test(config)) return 'commonjs';
  for (let folder = dirname(config); ; folder = dirname(folder)) {
    const text = await readOwnFile(join(folder, 'package.json'), 4 * 1024 * 1024);
    if (text !== null) return fieldsOf(parsedJson(text))['type'] === 'module' ? 'module' : 'commonjs';
    if (folder === dirname(folder)) return 'commonjs';
  }
}

/** The text that replaces a config. `given` = name of the renamed config in the same folder; null = there was none. */
function wrapperOf(options: { kind: 'module' | 'commonjs'; given: string | null; overlay: string }): string {
  const { kind, given } = options;
  const overlay = JSON.stringify(options.overlay);
  const beside = JSON.stringify(`./${given ?? ''}`);
  // A project may check types and style of all its files as part of its test command.
  const head = `// @ts-nocheck
/* eslint-disable */
// Written for this run: lays the agent's settings over the project's own${given === null ? ' (it has none)' : `, which are in ${given}`}.
`;
  if (kind === 'commonjs') {
    return `${head}require(${overlay}).wrap(module, () => ${given === null ? '({})' : `require(${beside})`});\n`;
  }
  return `${head}import { createRequire } from 'node:module';
import * as given from ${beside};
export * from ${beside};
export default createRequire(import.meta.url)(${overlay}).overlayModule(given);
`;
}
