import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack, type Pack } from 'tar-stream';
import { exitCodes, FatalError, toError } from '../../../errors.ts';
import { bundleLimits } from '../../../protocol/suite.ts';
import { bundleFiles, unusable, type BundleFile } from './files.ts';
import { inspectedBytes, secretIn } from './secret-looking.ts';

export type PackedBundle = {
  /** SHA-256 of the archive, in hex. */
  digest: string;
  /** Bytes of the archive. */
  size: number;
  files: number;
  /** Absolute: the root of the bundle. */
  root: string;
  /** The packed folder, relative to the root; empty = the root itself. */
  workingDir: string;
  lockFile: string | null;
  /** One sentence each: files that look secret, files that were skipped. */
  warnings: string[];
};

export type BundleLimits = { archiveBytes: number; unpackedBytes: number; entries: number };

const maxSecrets = 50;
const namedLargest = 5;

/**
 * Packs the project that `folder` belongs to as a tar.gz at `to`; the same files give the same bytes. Rejects with
 * FatalError (2): no lock file, too large (the largest files are named), or unreadable.
 */
export async function packBundle(options: {
  folder: string;
  to: string;
  /** Globs relative to `folder` that include files which would be skipped. */
  include?: readonly string[];
  needsLockFile?: boolean;
  limits?: BundleLimits;
}): Promise<PackedBundle> {
  const limits = options.limits ?? bundleLimits;
  const { root, workingDir, lockFile, files, notes } = await bundleFiles(options);
  if (files.length === 0) throw unusable(`${options.folder} has no files`);
  checkSizes(files, limits);

  const secrets: string[] = [];
  const archive = pack();
  const hash = createHash('sha256');
  let size = 0;
  const measure = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  // An error of one stream ends all of them, each with its own error: the first is the cause.
  const errors: Error[] = [];
  const note = (error: unknown) => void errors.push(toError(error));
  const file = createWriteStream(options.to).on('error', note);
  const writing = pipeline(archive, createGzip({ level: 6 }), measure, file).catch(note);
  const limitArchive = () => {
    if (size > limits.archiveBytes)
      throw tooLarge(`has more than ${megabytes(limits.archiveBytes)} packed`, files);
  };
  try {
    for (const each of files) {
      const secret = await addFile(archive, root, each);
      if (secret !== null) secrets.push(`${each.path} ${secret}; it is in the bundle`);
      limitArchive();
      if (errors.length > 0) break;
    }
    archive.finalize();
  } catch (error) {
    note(error);
  }
  if (errors.length > 0) archive.destroy();
  await writing;
  if (errors[0] !== undefined) throw ownError(errors[0], options.to);
  limitArchive();

  const more = secrets.length > maxSecrets ? [`and ${secrets.length - maxSecrets} more such files`] : [];
  const warnings = [...secrets.slice(0, maxSecrets), ...more, ...notes];
  return { digest: hash.digest('hex'), size, files: files.length, root, workingDir, lockFile, warnings };
}

/** Adds one entry without anything that differs between machines. Returns the reason why the file looks secret, or null. */
async function addFile(archive: Pack, root: string, file: BundleFile): Promise<string | null> {
  const header = { name: file.path, mtime: new Date(0), uid: 0, gid: 0 };
  if (file.kind === 'link') {
    await begin(archive, { ...header, type: 'symlink', linkname: file.target, mode: 0o777 }).done;
    return null;
  }
  const { size, executable } = file;
  const handle = await open(join(root, file.path));
  try {
    const mode = executable ? 0o755 : 0o644;
    const { entry, done } = begin(archive, { ...header, type: 'file', mode, size });
    let beginning = Buffer.alloc(0);
    // Read no further than the entry's size, because the file may be growing.
    for (let read = 0; read < size;) {
      const buffer = Buffer.allocUnsafe(Math.min(size - read, maxAtOnce));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, read);
      if (bytesRead === 0) throw unusable(`${file.path} became shorter while it was packed; try again`);
      const bytes = buffer.subarray(0, bytesRead);
      if (read === 0) beginning = bytes.subarray(0, inspectedBytes);
      read += bytesRead;
      if (!entry.write(bytes)) await Promise.race([drained(entry), done]);
    }
    entry.end(null);
    await done;
    return secretIn(file.path, beginning);
  } finally {
    await handle.close();
  }
}

const maxAtOnce = 256 * 1024;

/** An entry to write into; `done` settles when all of its bytes are written. */
function begin(archive: Pack, header: Parameters<Pack['entry']>[0]) {
  let settle: (error?: Error | null) => void = () => undefined;
  const done = new Promise<void>((resolve, reject) => {
    settle = (error) => (error ? reject(error) : resolve());
  });
  // The code that ends the archive's stream reports the cause.
  done.catch(() => undefined);
  const entry = archive.entry(header, (error) => settle(error)).on('error', () => undefined);
  return { entry, done };
}

const drained = (entry: ReturnType<Pack['entry']>): Promise<void> =>
  new Promise((resolve) => {
    entry.once('drain', () => resolve());
  });

function checkSizes(files: readonly BundleFile[], limits: BundleLimits): void {
  const bytes = files.reduce((sum, file) => sum + 512 + (file.kind === 'file' ? file.size + 512 : 0), 0);
  if (bytes > limits.unpackedBytes) throw tooLarge(`has more than ${megabytes(limits.unpackedBytes)}`, files);
  if (files.length > limits.entries) {
    const counts = new Map<string, number>();
    for (const { path } of files) {
      const folder = path.split('/').slice(0, -1).slice(0, 2).join('/');
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    const [[folder, count] = ['', 0]] = [...counts].sort(([, a], [, b]) => b - a);
    throw unusable(
      `the bundle has ${files.length} files, which is more than ${limits.entries}; ${count} of them are in ${folder === '' ? 'its root' : folder}; exclude files with a .gitignore`,
    );
  }
}

function tooLarge(what: string, files: readonly BundleFile[]): FatalError {
  const largest = files
    .flatMap((file) => (file.kind === 'file' ? [file] : []))
    .sort((a, b) => b.size - a.size)
    .slice(0, namedLargest)
    .map(({ path, size }) => `${path} (${megabytes(size)})`);
  return unusable(
    `the bundle ${what}; the largest files are ${largest.join(', ')}; exclude files with a .gitignore`,
  );
}

function megabytes(bytes: number): string {
  const value = bytes / 1024 / 1024;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} MB`;
}

function ownError(error: unknown, to: string): Error {
  if (error instanceof FatalError) return error;
  const { code, path, message } = toError(error) as NodeJS.ErrnoException; // most of these are system errors
  const where = path === undefined || path === to ? 'the bundle cannot be written' : `cannot read ${path}`;
  return new FatalError('CONFIGURATION', `${where} (${code ?? message})`, {
    exitCode: exitCodes.couldNotRun,
    cause: error,
  });
}
