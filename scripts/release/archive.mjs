/** Packs a Helm chart like `helm package`, but reproducibly: the same files give the same bytes. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import ignore from 'ignore';
import { pack } from 'tar-stream';
import { parse } from 'yaml';

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });
}

/**
 * Resolves with `{name, bytes}` of the chart in `folder`. Throws if the versions in Chart.yaml differ from the package's version.
 */
export async function chartArchive(folder, { version, time }) {
  const chart = parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8'));
  for (const field of ['version', 'appVersion']) {
    if (chart[field] !== version) {
      throw new Error(`${field} in Chart.yaml is ${chart[field]}, but package.json has ${version}`);
    }
  }
  const ignored = join(folder, '.helmignore');
  const kept = ignore().add(existsSync(ignored) ? readFileSync(ignored, 'utf8') : '');
  const tar = pack();
  for (const path of filesBelow(folder).filter((file) => !kept.ignores(relative(folder, file)))) {
    const bytes = readFileSync(path);
    const name = `${chart.name}/${relative(folder, path)}`;
    const mode = statSync(path).mode & 0o111 ? 0o755 : 0o644;
    tar.entry({ name, mode, mtime: new Date(time), uid: 0, gid: 0 }, bytes);
  }
  tar.finalize();
  return { name: `${chart.name}-${version}.tgz`, bytes: await buffer(tar.pipe(createGzip({ level: 9 }))) };
}
