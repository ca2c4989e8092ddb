import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Nodes of other versions, from npm's packages of them. */

const folder = join(import.meta.dirname, '..', '..', 'build', 'nodes');

/** The path of that Node, which is installed at the first call; null with one line if it cannot be had. */
export function otherNode(version: string): string | null {
  const name = `node-linux-${process.arch}`;
  const place = join(folder, version);
  const node = join(place, 'node_modules', name, 'bin', 'node');
  try {
    if (process.platform !== 'linux') throw new Error(process.platform);
    if (!existsSync(node)) {
      mkdirSync(place, { recursive: true });
      const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--prefix', place];
      execFileSync('npm', ['install', ...options, `${name}@${version}`], { stdio: 'pipe', timeout: 120_000 });
    }
    execFileSync(node, ['--version'], { stdio: 'pipe', timeout: 20_000 });
    return node;
  } catch {
    process.stdout.write(`skipped: Node ${version} could not be installed (npm package ${name})\n`);
    return null;
  }
}
