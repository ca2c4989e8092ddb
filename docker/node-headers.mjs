/**
 * node docker/node-headers.mjs LOCK OUT: unpacks to OUT the folder `include` of the Node package that LOCK names for this platform.
 * Fails if the package's digest differs from the one in LOCK.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [lock, out] = process.argv.slice(2);
const { packages } = JSON.parse(readFileSync(lock, 'utf8'));
const name = `node-${process.platform}-${process.arch}`;
const { version, integrity } = packages[`node_modules/${name}`];
mkdirSync(out, { recursive: true });
const [{ filename }] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--pack-destination', out, `${name}@${version}`], {
    encoding: 'utf8',
  }),
);
const archive = join(out, filename);
const [algorithm] = integrity.split('-', 1);
const found = `${algorithm}-${createHash(algorithm).update(readFileSync(archive)).digest('base64')}`;
if (found !== integrity)
  throw new Error(`${name}@${version}: its digest is ${found}, but the lock file has ${integrity}`);
execFileSync('tar', ['-xzf', archive, '-C', out, '--strip-components=1', 'package/include']);
