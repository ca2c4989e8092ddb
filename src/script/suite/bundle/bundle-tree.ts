import { link, mkdir, realpath, rm, symlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Header } from 'tar-stream';
import { createFileWrites, writeNew } from './file-writes.ts';
import { linkJudge, plainPath, wrongTarget } from './paths.ts';
import { invalid, megabytes, shown, wrongEntry } from './unpack-errors.ts';

export type UnpackLimits = { unpackedBytes: number; entries: number };
export type EntryBody = AsyncIterable<Uint8Array>;
/** Takes one entry of an archive; resolves when the next may come. */
export type TakeEntry = (header: Header, body: EntryBody) => Promise<void>;

type Kind = 'file' | 'directory' | 'link';

/** Bytes of all names and link targets, which are held until the end. */
const nameBytes = 32 * 1024 * 1024;
/** Files up to this size are written in one operation. */
const smallBytes = 256 * 1024;

/** The folder of a bundle, to which entries are written as they arrive. */
export function createTree(root: string, limits: UnpackLimits) {
  const record = createEntryRecord(limits);
  const links = new Map<string, string>();
  const writes = createFileWrites();
  let bytes = 0;

  const makeDirectory = async (path: string, isEntry = false): Promise<void> => {
    if (path === '' || path === '.' || record.note(path, 'directory')) return;
    // Folders without an entry of their own cost as much as those that have one.
    if (!isEntry) record.count(path.length);
    await makeDirectory(dirname(path));
    await mkdir(join(root, path), { mode: 0o755 });
  };

  const takeFile = async (path: string, { mode, size }: Header, body: EntryBody) => {
    await makeDirectory(dirname(path));
    // Removed, not overwritten: another hard link to the file keeps its content.
    if (record.note(path, 'file')) await remove(path);
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
    const kind = record.kindOf(other.path);
    if (kind === 'link') return takeLink(path, links.get(other.path) ?? '');
    if (kind !== 'file')
      throw wrongEntry(path, `is a hard link to ${shown(target)}, which is not an earlier file`);
    if (other.path === path) return;
    await makeDirectory(dirname(path));
    if (record.note(path, 'file')) await remove(path);
    await writes.idle();
    await link(join(root, other.path), join(root, path));
  };

  const takeLink = async (path: string, target: string) => {
    const wrong = wrongTarget(target);
    if (wrong !== null) throw wrongEntry(path, wrong);
    record.addName(target.length);
    await makeDirectory(dirname(path));
    record.note(path, 'link');
    links.set(path, target);
  };

  const take: TakeEntry = async (header, body) => {
    const named = plainPath(header.name);
    if ('wrong' in named) throw wrongEntry(header.name, named.wrong);
    const { path } = named;
    record.count(path.length);
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
    await createLinks(root, links, signal);
  };

  const counts = () => ({
    files: record.files(),
    bytes,
  });
  return { take, makeLinks, counts, idle: writes.idle };
}

function isSparse(pax: unknown): boolean {
  return (
    typeof pax === 'object' && pax !== null && Object.keys(pax).some((key) => key.startsWith('GNU.sparse.'))
  );
}

/** Which entries have arrived, and whether they are too many. */
function createEntryRecord(limits: UnpackLimits) {
  const kinds = new Map<string, Kind>();
  let entries = 0;
  let names = 0;

  const count = (length: number) => {
    entries += 1;
    names += length;
    if (entries > limits.entries) throw invalid(`it has more than ${limits.entries} entries`);
    if (names > nameBytes) throw invalid(`its names have more than ${megabytes(nameBytes)} in total`);
  };
  /** A name may appear again, as the same kind of entry. */
  const note = (path: string, kind: Kind): boolean => {
    const before = kinds.get(path);
    if (before !== undefined && before !== kind)
      throw wrongEntry(path, `appears twice, as a ${before} and as a ${kind}`);
    kinds.set(path, kind);
    return before !== undefined;
  };
  return {
    count,
    note,
    kindOf: (path: string) => kinds.get(path),
    addName: (length: number) => void (names += length),
    files: () => [...kinds.values()].filter((kind) => kind !== 'directory').length,
  };
}

/** Creates the links of a bundle below `root`, when its other entries are complete. Rejects for one that leads out of it. */
async function createLinks(
  root: string,
  links: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<void> {
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
}
