import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, readdir, realpath, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { AgentError, toError } from '../../../errors.ts';
import { reasonOf } from '../../../protocol/reasons.ts';
import { bundleLimits, type Suite } from '../../../protocol/suite.ts';
import { linkJudge, maxPathBytes, plainPath, wrongTarget } from './paths.ts';
import { createFileWrites, writeNew } from './file-writes.ts';
import { SuiteFailed } from '../place/place.ts';

export type UnpackLimits = { unpackedBytes: number; entries: number };

/** Maximum bytes between two entries: enough for headers of long names and the end of an archive. */
const headerBytes = 256 * 1024;
/** Bytes of all names and link targets, which are held until the end. */
const nameBytes = 32 * 1024 * 1024;
/** Files up to this size are written in one operation. */
const smallBytes = 256 * 1024;

/**
 * Unpacks the tar.gz at `archive` into `folder`, which must be empty or missing, in constant memory. Nothing is written
 * outside `folder`: links are created last, so that no path can go through one. Rejects with SuiteFailed BUNDLE_INVALID
 * (an invalid archive), AgentError DISK_FULL or INTERNAL, or the signal's reason; the folder's content is then
 * unusable.
 */
export async function unpackBundle(options: {
  archive: string;
  folder: string;
  limits?: UnpackLimits;
  signal: AbortSignal;
}): Promise<{ files: number; bytes: number }> {
  const { archive, folder, signal } = options;
  const limits = options.limits ?? bundleLimits;
  signal.throwIfAborted();
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length > 0)
      throw new AgentError('INTERNAL', 'the folder of a bundle is not empty');
    const tree = createTree(await realpath(folder), limits);
    try {
      await readEntries(archive, { limits, signal, take: tree.take });
      await tree.makeLinks(signal);
    } finally {
      await tree.idle().catch(() => undefined); // the failed entry has reported it
    }
    const counts = tree.counts();
    if (counts.files === 0) throw invalid('it contains no files');
    return counts;
  } catch (error) {
    signal.throwIfAborted();
    throw ownError(error);
  }
}

/** Rejects with AgentError BUNDLE_UNAVAILABLE if the file does not match the job, or with the signal's reason. */
export async function checkBundle(options: {
  archive: string;
  digest: Suite['bundle']['digest'];
  size: number;
  signal?: AbortSignal;
}): Promise<void> {
  const { size } = await stat(options.archive);
  if (size !== options.size)
    throw new AgentError(
      'BUNDLE_UNAVAILABLE',
      `the received code bundle has ${size} bytes instead of ${options.size}`,
    );
  const hash = createHash('sha256');
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  for await (const chunk of createReadStream(options.archive, { highWaterMark: 256 * 1024, ...signal }))
    hash.update(chunk as Buffer); // a stream without encoding yields buffers
  if (hash.digest('hex') !== options.digest)
    throw new AgentError(
      'BUNDLE_UNAVAILABLE',
      "the SHA-256 of the received code bundle differs from the job's",
    );
}

type EntryBody = AsyncIterable<Uint8Array>;
type TakeEntry = (header: Header, body: EntryBody) => Promise<void>;

/** Passes entries to `take` one after the other; each is complete before the next is read. */
async function readEntries(
  archive: string,
  { limits, signal, take }: { limits: UnpackLimits; signal: AbortSignal; take: TakeEntry },
): Promise<void> {
  // An error of one stream ends all of them, each with its own error: the first one that is not such an after-effect is
  // the cause.
  const errors: Error[] = [];
  const note = (error: unknown) => void errors.push(toError(error));
  const file = createReadStream(archive, { highWaterMark: 256 * 1024 }).on('error', note);
  const inflate = createGunzip({ chunkSize: 64 * 1024 }).on('error', note);
  const parser = extract().on('error', note);
  // The part of the archive that is accounted for: the entries so far, with their bytes.
  let accounted = 0;
  let inflated = 0;
  parser.on('entry', ({ size }) => (accounted = Math.max(accounted, inflated) + size));
  const bounded = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      inflated += chunk.length;
      if (inflated > limits.unpackedBytes) {
        note(invalid(`it unpacks to more than ${megabytes(limits.unpackedBytes)}`));
      } else if (inflated - accounted > headerBytes + chunk.length) {
        note(invalid(`it has a header of more than ${headerBytes / 1024} KB`));
      }
      if (errors[0] !== undefined) throw errors[0];
      yield chunk;
    }
  };
  const feeding = pipeline(file, inflate, bounded, parser, { signal }).catch(note);
  try {
    for await (const entry of parser) await take(entry.header, entry as EntryBody);
  } catch (error) {
    note(error);
  }
  if (errors.length > 0) parser.destroy();
  await feeding;
  const cause = errors.find((error) => !isAfterEffect(error)) ?? errors[0];
  if (cause !== undefined) throw cause;
}

/** Whether an error only says that another stream has ended this one. */
function isAfterEffect(error: NodeJS.ErrnoException): boolean {
  return /^(?:ERR_STREAM_|STREAM_DESTROYED|ABORT_ERR)/.test(error.code ?? '');
}

/** The content of the folder, as far as entries have arrived. */
function createTree(root: string, limits: UnpackLimits) {
  const kinds = new Map<string, 'file' | 'directory' | 'link'>();
  const links = new Map<string, string>();
  const writes = createFileWrites();
  let entries = 0;
  let names = 0;
  let bytes = 0;

  const count = (length: number) => {
    entries += 1;
    names += length;
    if (entries > limits.entries) throw invalid(`it has more than ${limits.entries} entries`);
    if (names > nameBytes) throw invalid(`its names have more than ${megabytes(nameBytes)} in total`);
  };
  /** A name may appear again, as the same kind of entry. */
  const note = (path: string, kind: 'file' | 'directory' | 'link'): boolean => {
    const before = kinds.get(path);
    if (before !== undefined && before !== kind)
      throw wrongEntry(path, `appears twice, as a ${before} and as a ${kind}`);
    kinds.set(path, kind);
    return before !== undefined;
  };
  const makeDirectory = async (path: string, isEntry = false): Promise<void> => {
    if (path === '' || path === '.' || note(path, 'directory')) return;
    // Folders without an entry of their own cost as much as those that have one.
    if (!isEntry) count(path.length);
    await makeDirectory(dirname(path));
    await mkdir(join(root, path), { mode: 0o755 });
  };

  const takeFile = async (path: string, { mode, size }: Header, body: EntryBody) => {
    await makeDirectory(dirname(path));
    // Removed, not overwritten: another hard link to the file keeps its content.
    if (note(path, 'file')) await remove(path);
    const full = join(root, path);
    const permissions = (mode & 0o111) === 0 ? 0o644 : 0o755;
    if (size > smallBytes) {
      await writeNew(full, body, permissions);
    } else {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      await writes.add(full, Buffer.concat(chunks), permissions);
    }
    bytes += size;
  };
  const remove = async (path: string) => {
    await writes.idle();
    await rm(join(root, path));
  };

  const takeHardLink = async (path: string, target: string) => {
    const other = plainPath(target);
    if ('wrong' in other) throw wrongEntry(path, 'is a hard link that leads out of the folder');
    const kind = kinds.get(other.path);
    if (kind === 'link') return takeLink(path, links.get(other.path) ?? '');
    if (kind !== 'file')
      throw wrongEntry(path, `is a hard link to ${shown(target)}, which is not an earlier file`);
    if (other.path === path) return;
    await makeDirectory(dirname(path));
    if (note(path, 'file')) await remove(path);
    await writes.idle();
    await link(join(root, other.path), join(root, path));
  };

  const takeLink = async (path: string, target: string) => {
    const wrong = wrongTarget(target);
    if (wrong !== null) throw wrongEntry(path, wrong);
    names += target.length;
    await makeDirectory(dirname(path));
    note(path, 'link');
    links.set(path, target);
  };

  const take: TakeEntry = async (header, body) => {
    const named = plainPath(header.name);
    if ('wrong' in named) throw wrongEntry(header.name, named.wrong);
    const { path } = named;
    count(path.length);
    const kind: string | null = header.type;
    if (path === '' && kind !== 'directory') throw wrongEntry(header.name, 'has no name');
    if (isSparse(header.pax)) throw wrongEntry(path, 'is a sparse file, which is not supported');
    if (header.size > limits.unpackedBytes)
      throw wrongEntry(path, `has more than ${megabytes(limits.unpackedBytes)}`);
    if (kind === 'file' || kind === 'contiguous-file') return takeFile(path, header, body);
    // The parser gives a folder no bytes, whatever size its entry claims.
    if (kind === 'directory') return makeDirectory(path, true);
    for await (const _ of body); // skip bytes that should not be here
    if (kind === 'symlink') return takeLink(path, header.linkname ?? '');
    if (kind === 'link') return takeHardLink(path, header.linkname ?? '');
    throw wrongEntry(
      path,
      `is a ${kind ?? 'thing of an unknown kind'}: only files, folders and links are allowed`,
    );
  };

  const makeLinks = async (signal: AbortSignal) => {
    await writes.idle();
    const wrongWith = linkJudge(links);
    let done = 0;
    for (const path of links.keys()) {
      const wrong = wrongWith(path);
      if (wrong !== null) throw wrongEntry(path, wrong);
      if (++done % 500 === 0) await nextTurn();
      signal.throwIfAborted();
    }
    for (const [path, target] of links) await symlink(target, join(root, path));
    // On a file system that treats two spellings as one name, a link may lead elsewhere than its names suggest.
    for (const path of links.keys()) {
      signal.throwIfAborted();
      const end = await realpath(join(root, path)).catch(() => root);
      if (end !== root && !end.startsWith(root + sep))
        throw wrongEntry(path, 'is a link that leads out of the folder');
    }
  };

  const counts = () => ({
    files: [...kinds.values()].filter((kind) => kind !== 'directory').length,
    bytes,
  });
  return { take, makeLinks, counts, idle: writes.idle };
}

function isSparse(pax: unknown): boolean {
  return (
    typeof pax === 'object' && pax !== null && Object.keys(pax).some((key) => key.startsWith('GNU.sparse.'))
  );
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 200));
const megabytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`;

function invalid(what: string): SuiteFailed {
  return new SuiteFailed(reasonOf('BUNDLE_INVALID', `the code bundle cannot be used: ${what}`));
}

function wrongEntry(path: string, what: string): SuiteFailed {
  return invalid(`entry ${shown(path)} ${what}`);
}

/** Attributes an error to the archive, the disk, or the agent. */
function ownError(error: unknown): Error {
  if (error instanceof SuiteFailed || error instanceof AgentError) return error;
  const { code, message } = toError(error) as NodeJS.ErrnoException; // most of these are system errors
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AgentError('DISK_FULL', 'no room on the disk to unpack the code bundle', { cause: error });
  if (code === 'ENAMETOOLONG')
    return invalid(`it has paths that are too long for this system (${maxPathBytes})`);
  if (code === 'EEXIST') return invalid('two of its names are one on this file system');
  if (code?.startsWith('Z_')) return invalid(`it is damaged or not a gzip archive (${message})`);
  // The parser's own errors have no code.
  if (code === undefined || code.startsWith('ERR_STREAM'))
    return invalid(`it is not a tar archive (${message})`);
  return new AgentError('INTERNAL', `the code bundle could not be unpacked: ${message}`, { cause: error });
}
