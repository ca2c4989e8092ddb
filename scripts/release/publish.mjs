/** Publication of the files of a release folder: to npm, to a registry of charts, and to the release of the tag. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files that SHA256SUMS lists, and itself. Throws if a file is missing or differs from its digest. */
export function releasedFiles(folder) {
  const sums = join(folder, 'SHA256SUMS');
  if (!existsSync(sums)) throw new Error(`${sums} is missing: run node scripts/release.mjs pack first`);
  const files = readFileSync(sums, 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ sha256: line.slice(0, 64), name: line.slice(66) }));
  for (const { name, sha256 } of files) {
    const path = join(folder, name);
    const found = existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : null;
    if (found !== sha256)
      throw new Error(`${name} ${found === null ? 'is missing' : 'differs from SHA256SUMS'}`);
  }
  return [...files, { name: 'SHA256SUMS', sha256: null }];
}

/**
 * The commands that publish, in order; they run in the release folder. The chart goes next to the images, below `charts`. npm
 * attaches provenance, which needs a CI job that can identify itself.
 */
export function publishCommands({ names, version, repository }) {
  const archives = names.filter((name) => name.endsWith('.tgz'));
  const own = archives.filter((name) => name === `private-location-agent-${version}.tgz`);
  const charts = archives.filter((name) => !own.includes(name));
  if (own.length !== 1 || charts.length === 0) throw new Error('the npm package or the charts are missing');
  const registry = repository.includes('/') ? repository.slice(0, repository.lastIndexOf('/')) : repository;
  return [
    ...own.map((name) => ({
      command: 'npm',
      args: ['publish', `./${name}`, '--provenance', '--access', 'public'],
    })),
    ...charts.map((name) => ({ command: 'helm', args: ['push', name, `oci://${registry}/charts`] })),
    {
      command: 'gh',
      args: ['release', 'create', `v${version}`, '--verify-tag', '--notes', `Version ${version}`, ...names],
    },
  ];
}
