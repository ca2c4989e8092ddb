import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Suite } from '../../../protocol/suite.ts';
import type { ChosenManager } from './package-manager.ts';
import type { Engine, SuitePlace } from '../place/place.ts';

/**
 * Hashes everything that decides which packages an install installs: two runs with the same key may share an install
 * (docs/suites/dependencies.md, "Dependency cache").
 */

/** Names of files that affect what a manager installs, in addition to lock files, package.json and .npmrc. */
const settings =
  /^(?:pnpm-workspace\.yaml|\.pnpmfile\.c?js|\.yarnrc|\.yarnrc\.yml|bunfig\.toml|[^/]+\.patch)$/;

/**
 * SHA-256, in hex, over records. Each is a label and a value, each preceded by its length (64 bits, big-endian):
 * `lockfile:<name>` with the file's raw SHA-256; `package.json:<path>` with its canonical text; `npmrc:<path>` with the
 * file's SHA-256, sorted by path. Then follow `settings:<path>` for other files that managers read, the install
 * command, the working folder, the engine and the platform. Rejects with errors of the file system.
 */
export async function dependencyKey(options: {
  place: SuitePlace;
  suite: Pick<Suite, 'installCommand'>;
  manager: ChosenManager;
  engine: Engine;
}): Promise<string> {
  const { place, manager, engine } = options;
  const found = await inputsBelow(place.project);
  const records: [label: string, value: string | Buffer][] = [];
  if (manager.lockFile !== null)
    records.push([
      `lockfile:${manager.lockFile}`,
      sha256(await readFile(join(place.project, manager.lockFile))),
    ]);
  const files: { path: string; label: string; value: string | Buffer }[] = [];
  for (const { path, kind } of found) {
    const content = await readFile(join(place.project, path));
    const value = kind === 'package.json' ? canonicalManifest(content) : sha256(content);
    files.push({ path, label: `${kind}:${path}`, value });
  }
  for (const wanted of [['package.json', 'npmrc'], ['settings']])
    records.push(
      ...files
        .filter(({ label }) => wanted.some((kind) => label.startsWith(`${kind}:`)))
        .map(({ label, value }): [string, string | Buffer] => [label, value]),
    );
  records.push(
    ['installCommand', options.suite.installCommand?.trim() ?? ''],
    ['workingDir', relative(place.project, place.working)],
    ['engine', `${engine.name} ${engine.version}`],
    ['platform', `${process.platform} ${process.arch}`],
  );
  return hashOf(records);
}

/** Combines records as `dependencyKey` does. */
export function hashOf(records: readonly (readonly [label: string, value: string | Buffer])[]): string {
  const hash = createHash('sha256');
  for (const part of records.flat()) {
    const bytes = Buffer.from(part as string); // both types are accepted
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest('hex');
}

/**
 * A package.json without `version`, keys in order, no whitespace, `<`, `>`, `&` and line separators escaped. Text that
 * is not a JSON object is returned unchanged.
 */
export function canonicalManifest(content: Buffer): string {
  let value: unknown;
  try {
    value = JSON.parse(content.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return content.toString('latin1');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    value = Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'version'));
  return canonical(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** JSON with keys sorted by their bytes. Written by hand, because objects put numeric keys first. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`;
}

type Input = { path: string; kind: 'package.json' | 'npmrc' | 'settings' };

/** Sorted by path. */
async function inputsBelow(root: string): Promise<Input[]> {
  const inputs: Input[] = [];
  const left = [root];
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules') left.push(path);
        continue;
      }
      if (!entry.isFile()) continue;
      const kind =
        entry.name === 'package.json'
          ? 'package.json'
          : entry.name === '.npmrc'
            ? 'npmrc'
            : settings.test(entry.name)
              ? 'settings'
              : null;
      if (kind !== null) inputs.push({ path: relative(root, path), kind });
    }
  }
  return inputs.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

function sha256(content: Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}
