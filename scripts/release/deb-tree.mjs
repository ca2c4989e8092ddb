/** The files of the Debian package, laid out below a folder as dpkg-deb wants them. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const name = 'private-location-agent';
const architectures = { x64: 'amd64', arm64: 'arm64' };

/**
 * Lays out the package below `tree`. `node`: the program to bundle, with npm next to it; `epoch`: the date of the changelog, in
 * seconds. Returns the version and Debian's name of the processor. Throws with the remedy if something is missing.
 */
export function layOut({ root, tree, node, epoch }) {
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`no package is built for the processor ${process.arch}`);
  const { version, description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const home = join(tree, 'usr', 'lib', name);
  mkdirSync(home, { recursive: true });
  for (const file of packedFiles(root)) {
    // Licence and changelog have their places in /usr/share/doc.
    if (file !== 'LICENSE') copy(join(root, file), join(home, file));
  }
  const native = join(root, 'build', 'native');
  const parts = ['location_agent.node', 'launcher', 'raw-socket'];
  const missing = parts.find((part) => !existsSync(join(native, part)));
  if (missing !== undefined) throw new Error(`build/native/${missing} is missing: run npm run build`);
  for (const part of parts) copy(join(native, part), join(home, 'build', 'native', part));
  copyPackages(root, join(home, 'node_modules'));
  bundleNode(node, join(home, 'node'));

  const own = join(root, 'packaging', 'debian');
  place(join(own, 'location-agent.sh'), join(tree, 'usr/bin/location-agent'), 0o755);
  place(join(own, 'start-service.sh'), join(home, 'start-service'), 0o755);
  for (const unit of ['location-agent', 'location-service']) {
    place(join(own, `${unit}.service`), join(tree, `usr/lib/systemd/system/${unit}.service`));
    place(join(own, `${unit}.default`), join(tree, `etc/default/${unit}`));
  }
  folder(join(tree, 'etc/location-agent'), 0o700);
  folder(join(tree, 'etc/location-service'), 0o700);
  folder(join(tree, 'etc/location-service/credentials'), 0o700);
  const documents = join(tree, 'usr/share/doc', name);
  place(join(root, 'LICENSE'), join(documents, 'copyright'));
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  const entry = `${name} (${version}) stable; urgency=medium\n\n  * Changes: /usr/lib/${name}/CHANGELOG.md\n\n -- ${maintainer}  ${date}\n`;
  write(join(documents, 'changelog.gz'), gzipSync(entry, { level: 9 }));
  place(join(own, 'lintian-overrides'), join(tree, 'usr/share/lintian/overrides', name));
  const page = readFileSync(join(root, 'man', 'location-agent.1'));
  write(join(tree, 'usr/share/man/man1/location-agent.1.gz'), gzipSync(page, { level: 9 }));
  for (const [shell, file] of Object.entries(completionFiles)) {
    write(join(tree, 'usr/share', file), completionOf(root, shell));
  }

  const control = join(tree, 'DEBIAN');
  for (const script of ['postinst', 'prerm', 'postrm'])
    place(join(own, script), join(control, script), 0o755);
  write(
    join(control, 'conffiles'),
    ['location-agent', 'location-service'].map((unit) => `/etc/default/${unit}\n`).join(''),
  );
  const needs = glibcOf([
    join(home, 'node/bin/node'),
    ...parts.map((part) => join(home, 'build/native', part)),
  ]);
  write(
    join(control, 'control'),
    [
      `Package: ${name}`,
      `Version: ${version}`,
      `Architecture: ${architecture}`,
      `Maintainer: ${maintainer}`,
      `Installed-Size: ${Math.ceil(sizeOf(tree) / 1024)}`,
      `Depends: libc6 (>= ${needs}), libstdc++6, ${needsAtomic(join(home, 'node/bin/node')) ? 'libatomic1, ' : ''}ca-certificates`,
      'Recommends: systemd (>= 250)',
      'Suggests: chromium, ffmpeg, postgresql',
      'Section: net',
      'Priority: optional',
      `Description: ${description.replace(/\.$/, '')}`,
      ` The agent (location-agent.service) and the monitoring service (location-service.service), with their own Node.`,
      ` Licence: ${license}.`,
      '',
    ].join('\n'),
  );
  return { version, architecture };
}

const maintainer = 'The maintainers <maintainers@private-location-agent.invalid>';

/** Where each shell looks for completions, below /usr/share. */
const completionFiles = {
  bash: 'bash-completion/completions/location-agent',
  zsh: 'zsh/vendor-completions/_location-agent',
  fish: 'fish/vendor_completions.d/location-agent.fish',
};

/** The completions for a shell, as the built program prints them. */
function completionOf(root, shell) {
  const args = [join(root, 'dist', 'main.js'), 'completion', shell];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0 || stdout === '') throw new Error(`no completions for ${shell}: ${stderr}`);
  return stdout;
}

/** The files of the npm package, by npm's own rules. */
function packedFiles(root) {
  const own = process.env.npm_execpath;
  const [command, ...first] = own === undefined ? ['npm'] : [process.execPath, own];
  const args = [...first, 'pack', '--dry-run', '--json', '--ignore-scripts'];
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (done.status !== 0) throw new Error(`npm pack failed: ${done.stderr || (done.error?.message ?? '')}`);
  return JSON.parse(done.stdout)[0].files.map(({ path }) => path);
}

/** Copies the production packages of the lock file. Each must be installed in the version that the lock file has. */
function copyPackages(root, target) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const [path, { version, dev, optional, devOptional }] of Object.entries(packages)) {
    if (path === '' || dev || optional || devOptional) continue;
    const from = join(root, path);
    const manifest = join(from, 'package.json');
    const found = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : 'missing';
    if (found !== version) throw new Error(`${path} is ${found}, not ${version}: run npm ci`);
    const into = join(target, path.slice('node_modules/'.length));
    // Nested packages have entries of their own.
    const nested = join(from, 'node_modules');
    cpSync(from, into, { recursive: true, filter: (file) => file !== nested });
  }
}

/** Copies a Node that is one program, and the npm of the same installation. */
function bundleNode(node, target) {
  const program = realpathSync(node);
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  if (/libnode|not found/.test(stdout ?? '')) {
    throw new Error(`${node} needs libraries of its own: name a Node from nodejs.org with --node`);
  }
  const npm = join(dirname(dirname(program)), 'lib', 'node_modules', 'npm');
  if (!existsSync(npm)) throw new Error(`there is no npm at ${npm}: name a Node with npm with --node`);
  place(program, join(target, 'bin', 'node'), 0o755);
  cpSync(npm, join(target, 'lib', 'node_modules', 'npm'), {
    recursive: true,
    filter: (file) => !/\/npm\/(man|docs)(\/|$)/.test(file),
  });
  const shim = `#!/bin/sh\nexec /usr/lib/${name}/node/bin/node /usr/lib/${name}/node/lib/node_modules/npm/bin/npm-cli.js "$@"\n`;
  write(join(target, 'bin', 'npm'), shim, 0o755);
}

/** The newest version of glibc that the programs ask for. */
function glibcOf(files) {
  const found = files.flatMap((file) => [
    ...readFileSync(file)
      .toString('latin1')
      .matchAll(/\0GLIBC_2\.(\d+)(?:\.\d+)?\0/g),
  ]);
  return `2.${Math.max(28, ...found.map(([, minor]) => Number(minor)))}`;
}

/** Whether a program needs libatomic, as Node from release 25 on does. */
const needsAtomic = (program) => /\0libatomic\.so\.1\0/.test(readFileSync(program).toString('latin1'));

function sizeOf(path) {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + readFileSync(join(entry.parentPath, entry.name)).length, 0);
}

function folder(path, mode) {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
}

function write(path, content, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

const place = (from, to, mode) => write(to, readFileSync(from), mode);

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
  // Whatever the umask of this checkout was, everyone may read the package.
  chmodSync(
    to,
    basename(from) === 'main.js' || /\/build\/native\/(launcher|raw-socket)$/.test(to) ? 0o755 : 0o644,
  );
}
