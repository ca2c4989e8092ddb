import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { AgentError, toError } from '../../../errors.ts';
import { bundleLimits, type Suite } from '../../../protocol/suite.ts';
import { createTree, type EntryBody, type TakeEntry, type UnpackLimits } from './bundle-tree.ts';
import { invalid, megabytes, ownError } from './unpack-errors.ts';

/** Maximum bytes between two entries: enough for headers of long names and the end of an archive. */
const headerBytes = 256 * 1024;

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
