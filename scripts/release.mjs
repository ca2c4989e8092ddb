/**
 * Creates a release, locally or in the release workflow:
 *   check  [--tag v1.2.3]                           verifies that CHANGELOG.md, the charts and package.json agree; with a tag, also that nothing is pending
 *   images --repository R [--push] [--dry-run]      builds all images for amd64 and arm64; writes their digests to images.json
 *   pack   [--image NAME@sha256:…] [--uncommitted] [--without-deb | --debs DIR]
 *          writes npm package, charts, Debian package, bills of materials, provenance, SHA256SUMS. The Debian package is built
 *          for this processor, or those of DIR are taken, which machines of each processor have built
 *   publish --repository R [--dry-run]              publishes the written files: npm package, charts to oci://, all files to the tag's release
 * Output goes to dist-release/ (or --out DIR). docs/upgrade.md explains version numbers.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { misused, readCommandLine } from './command-line.mjs';
import { changelogMistakes } from './release/changelog.mjs';
import { buildImages, buildxArguments, images } from './release/images.mjs';
import { builderOf, provenance, publicRemote, webPage } from './release/provenance.mjs';
import { publishCommands, releasedFiles } from './release/publish.mjs';
import { billedFolders, billOf } from './release/sbom.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const say = (line) => process.stderr.write(`release: ${line}\n`);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const started = new Date().toISOString();
const charts = readdirSync(join(root, 'charts')).sort();

/** The options of each command, besides --out. */
const commands = {
  check: { run: check, takes: ['tag'] },
  images: { run: publishImages, takes: ['repository', 'push', 'dry-run'] },
  pack: { run: packAll, takes: ['image', 'uncommitted', 'without-deb', 'debs'] },
  publish: { run: publishFiles, takes: ['repository', 'dry-run'] },
};
const { values: given, positionals } = readCommandLine('release', {
  allowPositionals: true,
  options: {
    tag: { type: 'string' },
    repository: { type: 'string' },
    push: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    image: { type: 'string', multiple: true },
    uncommitted: { type: 'boolean' },
    'without-deb': { type: 'boolean' },
    debs: { type: 'string' },
    out: { type: 'string' },
  },
});
const [command = '', ...more] = positionals;
if (!Object.hasOwn(commands, command) || more.length > 0) {
  const names = Object.keys(commands).join(', ');
  misused('release', `name a command: ${names}. The head of scripts/release.mjs describes them`);
}
const idle = Object.keys(given).find((name) => name !== 'out' && !commands[command].takes.includes(name));
if (idle !== undefined) {
  const owners = Object.keys(commands).filter((name) => commands[name].takes.includes(idle));
  misused('release', `--${idle} is an option of ${owners.join(' and ')}, not of ${command}`);
}
const values = { repository: 'location-agent', push: false, image: [], out: 'dist-release', ...given };
// The form that registries accept: a host with a port, and names in lower case.
const part = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
if (!new RegExp(`^(?:[A-Za-z0-9.-]+(?::\\d+)?/)?${part}(?:/${part})*$`).test(values.repository))
  misused(
    'release',
    `--repository ${values.repository}: use a name in lower case without tag, such as registry.example/location-agent`,
  );
if (values.out === '' || values.debs === '') misused('release', '--out and --debs must name a folder');
if (values.debs !== undefined && values['without-deb'] === true)
  misused('release', '--debs and --without-deb exclude each other');
const digests = values.image.map((text) => {
  const found = /^(\S+)@sha256:([0-9a-f]{64})$/.exec(text);
  if (found === null) misused('release', `--image ${text}: use NAME@sha256:… with 64 hexadecimal digits`);
  return { name: found[1], sha256: found[2] };
});
const out = resolve(root, values.out);

function git(...args) {
  const done = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : null;
}

/** The source of this tree. Times are the commit's, so that the same commit produces the same files. */
function sourceOf() {
  const commit = git('rev-parse', 'HEAD');
  if (commit === null) throw new Error('no git commit found: create the release from a clone');
  const remote = publicRemote(git('remote', 'get-url', 'origin') ?? '');
  const epoch = process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct');
  return {
    uri: remote ?? `pkg:generic/private-location-agent@${version}`,
    commit,
    dirty: git('status', '--porcelain') !== '',
    time: new Date(Number(epoch) * 1000).toISOString(),
  };
}

/** Packs the npm package into `out`. Returns its file name. */
function npmPack() {
  const own = process.env.npm_execpath;
  const [command, ...first] = own === undefined ? ['npm'] : [process.execPath, own];
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', out];
  const done = spawnSync(command, [...first, ...args], { cwd: root, encoding: 'utf8' });
  if (done.status !== 0)
    throw new Error(`npm pack failed: ${(done.stderr || done.error?.message || '').trim()}`);
  return JSON.parse(done.stdout)[0].filename;
}

/** Builds the Debian package into `out`. Returns its file name. */
function debPackage(time) {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(Date.parse(time) / 1000) };
  const args = [join(root, 'scripts', 'deb.mjs'), '--out', out];
  const done = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
  if (done.status !== 0) throw new Error(`${(done.stderr ?? '').trim()} (--without-deb leaves it out)`);
  return basename(done.stdout.trim());
}

/** The Debian packages of `--debs`, one for each processor. Throws if one is missing or has another version. */
function givenDebs() {
  const folder = resolve(root, values.debs);
  const wanted = ['amd64', 'arm64'].map(
    (architecture) => `private-location-agent_${version}_${architecture}.deb`,
  );
  const found = existsSync(folder) ? readdirSync(folder).sort() : [];
  if (found.join() !== wanted.join())
    throw new Error(
      `--debs ${folder}: expected ${wanted.join(' and ')}, found ${found.join(', ') || 'nothing'}`,
    );
  return wanted.map((name) => join(folder, name));
}

/** Publishes the files that `pack` wrote, after their digests have been verified. */
function publishFiles() {
  const files = releasedFiles(out);
  const names = files.map(({ name }) => name);
  for (const { command, args } of publishCommands({ names, version, repository: values.repository })) {
    const line = [command, ...args].join(' ');
    if (values['dry-run']) {
      process.stdout.write(`${line}\n`);
      continue;
    }
    say(line);
    const done = spawnSync(command, args, { cwd: out, stdio: 'inherit' });
    if (done.status !== 0)
      throw new Error(`${line} failed (${done.error?.message ?? `exit code ${done.status}`})`);
  }
}

/** Names of the files that `pack` and `images` write. */
const ofRelease =
  /^([\w.-]+\.tgz|[\w.-]+\.deb|sbom-[\w.-]+\.cdx\.json|provenance\.intoto\.json|SHA256SUMS|images\.json|\.image-\d+\.json)$/;
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

function check() {
  const today = new Date().toISOString().slice(0, 10);
  const mistakes = changelogMistakes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), {
    version,
    release: values.tag !== undefined,
    today,
  });
  if (values.tag !== undefined && values.tag !== `v${version}`) {
    mistakes.push(`the tag is ${values.tag}, but package.json has ${version}`);
  }
  for (const name of charts) {
    const text = readFileSync(join(root, 'charts', name, 'Chart.yaml'), 'utf8');
    for (const field of ['version', 'appVersion']) {
      const found = new RegExp(`^${field}: *'?"?([^'"\\s]+)`, 'm').exec(text)?.[1];
      if (found !== version)
        mistakes.push(`${field} in charts/${name}/Chart.yaml is ${found}, not ${version}`);
    }
  }
  for (const file of ['Dockerfile', 'Dockerfile.uptime', 'Dockerfile.dev']) {
    const found = /^ARG VERSION=(.*)$/m.exec(readFileSync(join(root, file), 'utf8'))?.[1];
    if (found !== undefined && found !== version)
      mistakes.push(`VERSION in ${file} is ${found}, not ${version}`);
  }
  for (const mistake of mistakes) say(mistake);
  if (mistakes.length > 0) process.exitCode = 1;
  else say(`CHANGELOG.md and all versions match ${version}`);
}

function publishImages() {
  const source = sourceOf();
  const { repository, push } = values;
  const page = webPage(source.uri);
  const options = { repository, version, commit: source.commit, time: source.time, source: page, push };
  if (values['dry-run']) {
    const lines = images.map((image) => {
      const { args } = buildxArguments(image, { ...options, metadataFile: 'image.json' });
      return `docker ${args.map((text) => (/\s/.test(text) ? `'${text}'` : text)).join(' ')}\n`;
    });
    process.stdout.write(lines.join(''));
    return;
  }
  mkdirSync(out, { recursive: true });
  const built = buildImages(root, out, options);
  writeFileSync(join(out, 'images.json'), `${JSON.stringify(built, null, 2)}\n`);
  for (const { name, sha256: digest } of built) say(`${name}@sha256:${digest}`);
}

/** Digests from the command line and from images.json. */
function imageDigests() {
  const file = join(out, 'images.json');
  const built = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  return [...built, ...digests];
}

async function packAll() {
  const source = sourceOf();
  if (source.dirty && !values.uncommitted) {
    throw new Error('there are uncommitted changes: commit them, or use --uncommitted');
  }
  const subjects = imageDigests();
  const debs = values.debs === undefined ? [] : givenDebs();
  mkdirSync(out, { recursive: true });
  const before = readdirSync(out);
  // Never delete files in a folder that is not a release folder.
  const strange = before.find((name) => !ofRelease.test(name));
  if (strange !== undefined)
    throw new Error(`--out ${out}: ${strange} in it does not belong to a release; use an empty folder`);
  for (const name of before.filter((file) => file !== 'images.json')) rmSync(join(out, name));
  const written = [];
  const keep = (name, bytes) => {
    writeFileSync(join(out, name), bytes);
    const file = { name, sha256: sha256(bytes) };
    written.push(file);
    say(`${name} (${Buffer.byteLength(bytes)} bytes)`);
    return file;
  };

  const setUp = spawnSync(process.execPath, ['scripts/setup.mjs', 'build'], { cwd: root, stdio: 'inherit' });
  if (setUp.status !== 0) throw new Error('the build failed');
  const archive = npmPack();
  subjects.push(keep(archive, readFileSync(join(out, archive))));
  const { chartArchive } = await import('./release/archive.mjs');
  for (const chart of charts) {
    const { name, bytes } = await chartArchive(join(root, 'charts', chart), { version, time: source.time });
    subjects.push(keep(name, bytes));
  }
  for (const file of debs) subjects.push(keep(basename(file), readFileSync(file)));
  if (debs.length === 0 && values['without-deb'] !== true) {
    const deb = debPackage(source.time);
    subjects.push(keep(deb, readFileSync(join(out, deb))));
  }
  const folders = billedFolders(root);
  const bills = folders.map((each) =>
    keep(`sbom-${each.name}.cdx.json`, billOf(each, { version, time: source.time })),
  );
  const locks = folders.map(({ folder }) => {
    const path = join(folder, 'package-lock.json');
    return { name: path.slice(root.length + 1), sha256: sha256(readFileSync(path)) };
  });
  const statement = provenance({
    subjects,
    source,
    materials: locks,
    byproducts: bills,
    version,
    builder: builderOf(process.env),
    times: { started, finished: new Date().toISOString() },
  });
  keep('provenance.intoto.json', `${JSON.stringify(statement, null, 2)}\n`);
  keep('SHA256SUMS', written.map(({ name, sha256: digest }) => `${digest}  ${name}\n`).join(''));
}

try {
  await commands[command].run();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
