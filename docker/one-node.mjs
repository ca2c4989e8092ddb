/**
 * node docker/one-node.mjs APP RUNTIME OUT: keeps only one Node in the image, that of RUNTIME. It copies the binary to OUT, from
 * where it starts the agent and where every script may read it. The runtime and the engines of suites get a link to /usr/local/bin/node.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';

const [app, runtime, out] = process.argv.slice(2);
const shared = '/usr/local/bin/node';
const ofRuntime = join(app, 'runtimes', runtime, 'node_modules', `node-${process.platform}-${process.arch}`);
const { version } = JSON.parse(readFileSync(join(ofRuntime, 'package.json'), 'utf8'));

function linkTo(folder) {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  rmSync(join(folder, 'bin', 'node'), { force: true });
  symlinkSync(shared, join(folder, 'bin', 'node'));
}

mkdirSync(dirname(out), { recursive: true });
copyFileSync(join(ofRuntime, 'bin', 'node'), out);
linkTo(ofRuntime);

// If all engines are installed, they keep their own Node.
const packages = join(app, 'engines', 'node_modules');
if (!existsSync(join(packages, '.engines-stamp'))) {
  const major = version.split('.')[0];
  const engine = join(packages, `node-${major}-${process.platform}-${process.arch}`);
  linkTo(engine);
  writeFileSync(join(engine, 'package.json'), JSON.stringify({ name: 'the-runtimes-node', version }));
  const list = readFileSync(join(app, 'engines', 'package-lock.json'));
  writeFileSync(
    join(packages, '.engines-stamp'),
    createHash('sha256').update(`${version}\n`).update(list).digest('hex'),
  );
}
