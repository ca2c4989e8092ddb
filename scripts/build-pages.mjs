/**
 * Bundles the files that browsers load from the service: the modules and style sheets of src/service/pages/browser, and the style
 * sheet of status pages. `node scripts/build-pages.mjs FOLDER` writes them to FOLDER, which is `service/pages/browser` of the
 * compiled sources, or build/pages for a service that runs from src/ (src/service/http/page-files.ts checks both).
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const service = join(root, 'src', 'service');
const [, , target] = process.argv;
if (target === undefined) {
  process.stderr.write('usage: node scripts/build-pages.mjs FOLDER\n');
  process.exit(64);
}
const folder = resolve(target);

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: {
    app: join(service, 'pages', 'browser', 'app.ts'),
    style: join(service, 'pages', 'browser', 'styles', 'style.css'),
    status: join(service, 'public-pages', 'status.css'),
  },
  outdir: folder,
  write: false,
  bundle: true,
  minify: true,
  format: 'esm',
  charset: 'utf8',
  // Anyone may visit a status page, so older browsers must be able to run it.
  target: ['chrome100', 'edge100', 'firefox100', 'safari15.4'],
  // All browser settings are in this file; tsconfig.json is for the type check only.
  tsconfigRaw: '{}',
  logLevel: 'warning',
});
const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
files.set('page.html', readFileSync(join(service, 'pages', 'browser', 'page.html')));

mkdirSync(folder, { recursive: true });
for (const [name, contents] of files) {
  // A service or another run of this script may be reading the file.
  const fresh = join(folder, `.${name}.${process.pid}`);
  writeFileSync(fresh, contents);
  renameSync(fresh, join(folder, name));
}
