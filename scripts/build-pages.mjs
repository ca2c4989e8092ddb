/**
 * Bundles the files that browsers load from the service: the pages (src/service/pages/browser) and the style sheet of status
 * pages. `node scripts/build-pages.mjs FOLDER` writes them to FOLDER, which is `service/pages/browser` of the compiled sources, or
 * build/pages for a service that runs from src/ (src/service/http/answers/page-files.ts checks both).
 *
 * FOLDER/index.html is the page. FOLDER/home.html, check.html and run.html are the same for the pages that people open most:
 * they name all code of their page (home.html its first data too), so that browsers load it at once.
 * FOLDER/assets/ has everything else, with a hash of the content in each name, and each file also
 * compressed (.br, .gz).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const service = join(root, 'src', 'service');
const browser = join(service, 'pages', 'browser');
const [, , target] = process.argv;
if (target === undefined) {
  process.stderr.write('usage: node scripts/build-pages.mjs FOLDER\n');
  process.exit(64);
}
const folder = resolve(target);

const { outputFiles, metafile } = await build({
  absWorkingDir: root,
  entryPoints: {
    main: join(browser, 'main.tsx'),
    style: join(browser, 'styles', 'main.css'),
    status: join(service, 'public-pages', 'styles', 'page.css'),
  },
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  outdir: join(folder, 'assets'),
  write: false,
  bundle: true,
  splitting: true,
  minify: true,
  metafile: true,
  format: 'esm',
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  define: { 'process.env.NODE_ENV': '"production"' },
  target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
  // All browser settings are in this file; tsconfig.json is for the type check only.
  tsconfigRaw: '{}',
  logLevel: 'warning',
});

/** Content by name in assets/. */
const assets = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
const icon = readFileSync(join(browser, 'icon.svg'));
const iconName = `icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`;
assets.set(iconName, icon);

const built = Object.entries(metafile.outputs).map(([path, { entryPoint }]) => ({
  name: basename(path),
  entryPoint,
}));
const nameOf = (entry) => {
  const found = built.find(({ entryPoint, name }) => entryPoint?.endsWith(entry) && extname(name) !== '.map');
  if (found === undefined) throw new Error(`${entry} was not built`);
  return found.name;
};
const names = {
  icon: iconName,
  main: nameOf('pages/browser/main.tsx'),
  style: nameOf('pages/browser/styles/main.css'),
  status: nameOf('public-pages/styles/page.css'),
};
/** A file with all that it imports at once, so that the browser need not read one file to know the next. */
function withImports(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  const [, output] = Object.entries(metafile.outputs).find(([path]) => basename(path) === name);
  for (const { path, kind } of output.imports)
    if (kind === 'import-statement') withImports(basename(path), found);
  return found;
}
const template = readFileSync(join(browser, 'index.html'), 'utf8');
/** The document, which loads these files early. `data`: a path of the API that the page reads first. */
function documentWith(files, data) {
  const early = [
    ...[...files].map((name) => `<link rel="modulepreload" href="/assets/${name}" />`),
    ...(data === undefined
      ? []
      : [`<link rel="preload" href="${data}" as="fetch" crossorigin="anonymous" />`]),
  ].join('\n    ');
  return template.replace('%early%', early).replaceAll(/%(\w+)%/g, (_, name) => `/assets/${names[name]}`);
}
const ofMain = withImports(names.main);
/** As home/query.ts and home/overview.ts make it of an address without a query. */
const firstList = '/v1/checks-overview?sort=state&amp;order=asc&amp;limit=100&amp;page=1';

/** Writes through a new name, because a service or another run of this script may be reading the file. */
function put(name, content) {
  const fresh = join(folder, `${name}.${process.pid}.new`);
  writeFileSync(fresh, content);
  renameSync(fresh, join(folder, name));
}

const gzip = promisify(zlib.gzip);
const brotli = promisify(zlib.brotliCompress);
mkdirSync(join(folder, 'assets'), { recursive: true });
const wanted = new Set();
await Promise.all(
  [...assets].map(async ([name, content]) => {
    const [small, smallest] = await Promise.all([
      gzip(content, { level: 9 }),
      brotli(content, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11 } }),
    ]);
    for (const [suffix, bytes] of [
      ['', content],
      ['.gz', small],
      ['.br', smallest],
    ]) {
      wanted.add(name + suffix);
      put(join('assets', name + suffix), bytes);
    }
  }),
);
put('names.json', JSON.stringify(names));
put('index.html', documentWith(ofMain));
/** The code of a page with that of `main.tsx`. */
const codeOf = (...entries) =>
  new Set([...ofMain, ...entries.flatMap((entry) => [...withImports(nameOf(`pages/browser/${entry}`))])]);
put('home.html', documentWith(codeOf('home/page.tsx'), firstList));
put('check.html', documentWith(codeOf('checks/page.tsx', 'charts/plot.ts')));
put('run.html', documentWith(codeOf('runs/page.tsx')));
// Files of an older build, except those that another run is writing.
for (const name of readdirSync(join(folder, 'assets')))
  if (!wanted.has(name) && !name.endsWith('.new')) rmSync(join(folder, 'assets', name), { force: true });
