/**
 * Bills of materials (CycloneDX 1.5), read only from the lock files, which list exactly the installed packages. `npm sbom` either
 * refuses trees with a newer version of a peer, such as the runtimes, or omits all peers.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folders with a bill of materials: agent and service, each script runtime, the suite engines. */
export function billedFolders(root) {
  const runtimes = readdirSync(join(root, 'runtimes')).filter((name) =>
    existsSync(join(root, 'runtimes', name, 'package-lock.json')),
  );
  return [
    { name: 'agent', folder: root },
    ...runtimes.map((name) => ({ name: `runtime-${name}`, folder: join(root, 'runtimes', name) })),
    { name: 'engines', folder: join(root, 'engines') },
  ];
}

const inModules = 'node_modules/';
const nameOf = (path, { name }) => name ?? path.slice(path.lastIndexOf(inModules) + inModules.length);
const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** The bill of a folder with a lock file, as text. The same packages, version and time (ISO) give the same text. */
export function billOf({ name, folder }, { version, time }) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const whole = `private-location-agent${name === 'agent' ? '' : `-${name}`}`;
  const root = { ref: purlOf(whole, version), dependsOn: new Set() };
  const components = new Map();
  const dependencies = new Map([[root.ref, root.dependsOn]]);
  const installed = Object.entries(packages).filter(([, { dev, link }]) => dev !== true && link !== true);
  for (const [path, entry] of installed) {
    const ref = path === '' ? root.ref : purlOf(nameOf(path, entry), entry.version);
    if (path !== '' && !components.has(ref)) components.set(ref, componentOf(ref, path, entry));
    const needs = dependencies.get(ref) ?? new Set();
    dependencies.set(ref, needs);
    for (const needed of Object.keys({
      ...entry.dependencies,
      ...entry.optionalDependencies,
      ...entry.peerDependencies,
    })) {
      const found = resolved(path, needed, packages);
      // Optional packages of other platforms and absent optional peers are not in the lock file.
      if (found !== null) needs.add(purlOf(nameOf(found, packages[found]), packages[found].version));
    }
  }
  const sorted = (values) => [...values].toSorted((a, b) => (a < b ? -1 : 1));
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: time,
      component: { type: 'application', 'bom-ref': root.ref, name: whole, version, purl: root.ref },
    },
    components: sorted(components.keys()).map((ref) => components.get(ref)),
    dependencies: sorted(dependencies.keys()).map((ref) => ({
      ref,
      dependsOn: sorted(dependencies.get(ref)),
    })),
  };
  return `${JSON.stringify({ serialNumber: serialNumber(bill), ...bill }, null, 2)}\n`;
}

/** Finds a dependency of a package in its own node_modules or in the nearest one above; null = not installed. */
function resolved(path, needed, packages) {
  for (let folder = path; ;) {
    const candidate = `${folder === '' ? '' : `${folder}/`}${inModules}${needed}`;
    const entry = packages[candidate];
    if (entry !== undefined) return entry.dev === true || entry.link === true ? null : candidate;
    if (folder === '') return null;
    const above = folder.lastIndexOf(`/${inModules}`);
    folder = above < 0 ? '' : folder.slice(0, above);
  }
}

function componentOf(ref, path, entry) {
  const name = nameOf(path, entry);
  const hashes = (entry.integrity ?? '')
    .split(' ')
    .filter(Boolean)
    .map((text) => {
      const [algorithm, digest] = [text.slice(0, text.indexOf('-')), text.slice(text.indexOf('-') + 1)];
      return {
        alg: algorithm.replace(/^sha/, 'SHA-'),
        content: Buffer.from(digest, 'base64').toString('hex'),
      };
    });
  return {
    type: 'library',
    'bom-ref': ref,
    name,
    version: entry.version,
    scope: entry.optional === true ? 'optional' : 'required',
    ...(hashes.length === 0 ? {} : { hashes }),
    ...(typeof entry.license === 'string' ? { licenses: [licenseOf(entry.license)] } : {}),
    purl: ref,
  };
}

/** A license as an SPDX id, an SPDX expression, or the text of the package. */
function licenseOf(text) {
  if (/ (OR|AND|WITH) /.test(text)) return { expression: text };
  const isId = /^[A-Za-z0-9.+-]+$/.test(text) && !['BSD', 'UNLICENSED'].includes(text);
  return { license: isId ? { id: text } : { name: text } };
}

/** A UUID (version 8) derived from the bill's contents, so that the same bill gives the same file. */
function serialNumber(bill) {
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `a${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ];
  return `urn:uuid:${parts.join('-')}`;
}
