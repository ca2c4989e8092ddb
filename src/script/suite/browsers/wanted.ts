import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Suite, SuiteBrowser } from '../../../protocol/suite.ts';
import { listOf } from '../../process/unchecked.ts';
import type { PackageManager, RunProgram, SuitePlace } from '../place/place.ts';
import { fieldsOf, parsedJson } from '../../../json-values.ts';

/**
 * Finds the browsers, and their revisions, that a project's own Playwright would start. All data that is read here is
 * the customer's.
 */

export type PlaywrightFacts = {
  version: string;
  /** Names of folders in a browsers directory, by Playwright's name of their content: `chromium-1255`. */
  folders: { readonly [name: string]: string };
};

const maxBytes = 1024 * 1024;
const evalMs = 30_000;

/**
 * The Playwright that the project has installed; null = none found. If only the package manager can read the packages
 * (Plug'n'Play), it is queried through the package manager.
 */
export async function playwrightOf(options: {
  place: SuitePlace;
  manager: Pick<PackageManager, 'name'>;
  env: { readonly [name: string]: string };
  run: RunProgram;
  signal: AbortSignal;
}): Promise<PlaywrightFacts | null> {
  const { place } = options;
  const folder = await coreFolder(place.working);
  if (folder !== null) return playwrightIn(folder);
  const isPnp = await stat(join(place.project, '.pnp.cjs')).then(
    () => true,
    () => false,
  );
  if (!isPnp || options.manager.name !== 'yarn') return null;
  const lines: string[] = [];
  let bytes = 0;
  await options.run({
    command: `yarn node -e '${readThroughPnp}'`,
    cwd: place.working,
    env: options.env,
    timeoutMs: evalMs,
    signal: options.signal,
    onLine: (line, stream) => {
      bytes += line.length;
      if (stream === 'stdout' && bytes < maxBytes) lines.push(line);
    },
  });
  const answer = fieldsOf(parsedJson(lines.find((line) => line.startsWith('{"version"')) ?? ''));
  return factsOf(JSON.stringify({ version: answer['version'] }), JSON.stringify(answer));
}

/** The version and browsers of a folder of `playwright-core`; null = it is not one. */
export async function playwrightIn(folder: string): Promise<PlaywrightFacts | null> {
  const [description, browsers] = await Promise.all([
    readBounded(join(folder, 'package.json')),
    readBounded(join(folder, 'browsers.json')),
  ]);
  return factsOf(description, browsers);
}

/** One line, so that no output limit of a line cuts it: name and revision of each browser, nothing else. */
const readThroughPnp = [
  'const at=(name,from)=>require.resolve(name,{paths:[from]}),{dirname,join}=require("path"),fs=require("fs");',
  'let from=process.cwd();',
  'for(const name of ["@playwright/test","playwright","playwright-core"])',
  'try{from=dirname(at(name+"/package.json",from))}catch{}',
  'const read=(name)=>JSON.parse(fs.readFileSync(join(from,name),"utf8"));',
  'const browsers=read("browsers.json").browsers.map(({name,revision})=>({name,revision}));',
  'console.log(JSON.stringify({version:read("package.json").version,browsers}))',
].join('');

/**
 * The folder of `playwright-core`, as the project's own `@playwright/test` finds it. No customer code runs. Node's own
 * lookup is not used, because it opens any file in a package.json's place, even a pipe that never answers.
 */
async function coreFolder(working: string): Promise<string | null> {
  let from: string | null = null;
  for (const name of ['@playwright/test', 'playwright', 'playwright-core'])
    from = (await packageFolder(name, from ?? working)) ?? from; // a project may depend only on the inner packages
  return from !== null && /[\\/]playwright-core$/.test(from) ? from : null;
}

/** Where a module in `folder` finds a package: in the nearest `node_modules` upwards. Null = nowhere. */
async function packageFolder(name: string, folder: string): Promise<string | null> {
  for (let at = folder; ; at = dirname(at)) {
    const path = await realpath(join(at, 'node_modules', name)).catch(() => null);
    if (path !== null && (await readBounded(join(path, 'package.json'))) !== null) return path;
    if (at === dirname(at)) return null;
  }
}

function factsOf(description: string | null, list: string | null): PlaywrightFacts | null {
  const version = fieldsOf(parsedJson(description ?? ''))['version'];
  if (typeof version !== 'string' || !/^[\w.+-]{1,64}$/.test(version)) return null;
  const folders: { [name: string]: string } = {};
  for (const each of listOf(fieldsOf(parsedJson(list ?? ''))['browsers'], 50)) {
    const { name, revision } = fieldsOf(each);
    if (typeof name !== 'string' || !/^[a-z-]{1,40}$/.test(name)) continue;
    if (typeof revision !== 'string' || !/^[\w.]{1,32}$/.test(revision)) continue;
    folders[name] = `${name.replaceAll('-', '_')}-${revision}`;
  }
  return { version, folders };
}

/** Words of a config that mean a browser, including devices that use it. */
const words: { readonly [B in SuiteBrowser]: RegExp } = {
  chromium: /chromium|chrome|edge|galaxy|pixel|android/i,
  firefox: /firefox/i,
  webkit: /webkit|safari|iphone|ipad/i,
};

/**
 * The browsers that a run may start: those that the check names, and those that its configs mention; Chromium if
 * neither names one. Too many rather than too few, because only the program itself knows which words of a config are
 * used.
 */
export async function wantedBrowsers(place: SuitePlace, suite: Pick<Suite, 'browsers' | 'configPath'>) {
  const names = await readdir(place.working).catch(() => []);
  const files = names.filter((name) => /^playwright.*\.(ts|js|mts|mjs|cts|cjs)$/.test(name)).slice(0, 20);
  if (suite.configPath !== null) files.push(suite.configPath);
  const texts = await Promise.all(files.map((name) => readBounded(join(place.working, name))));
  // Removes comments, but not the // of a URL.
  const text = texts
    .map((each) => (each ?? '').replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, ''))
    .join('\n');
  const wanted = new Set<SuiteBrowser>(suite.browsers);
  for (const name of ['chromium', 'firefox', 'webkit'] as const) if (words[name].test(text)) wanted.add(name);
  return {
    browsers: wanted.size === 0 ? (['chromium'] as SuiteBrowser[]) : [...wanted],
    /** Browsers that only their vendors install: they are in no Playwright directory. */
    channels: [
      ...new Set(
        [...text.matchAll(/channel:\s*['"`]((?:chrome|msedge)[\w-]*)/g)].map(([, name]) => name ?? ''),
      ),
    ],
  };
}

async function readBounded(file: string): Promise<string | null> {
  try {
    const found = await stat(file);
    if (!found.isFile() || found.size > maxBytes) return null;
    return await readFile(file, 'utf8');
  } catch {
    return null;
  }
}
