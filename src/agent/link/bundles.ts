import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { AgentError, FatalError, ServiceError, toError } from '../../errors.ts';
import { bundlePath } from '../../protocol/agent-calls.ts';
import type { FetchBundle } from '../../script/interface/suite-run.ts';
import { backoffMs, pause } from './backoff.ts';
import { withTimeLimit } from '../../time-limit.ts';
import { createBundleShelf, type BundleShelf } from './bundle-shelf.ts';
import { classify } from './client.ts';
import type { Transport } from './transport.ts';
import { codeOf } from '../../system-errors.ts';

/** Downloads code bundles of suites. All runs of this agent share one download, which is resumed if it breaks. */

type Bundle = Parameters<FetchBundle>[0];

/** Time limit of a download, from its request to its last byte on disk. */
const maxDownloadMs = 5 * 60_000;
/** A connection without any progress for this time is closed. */
const stalledMs = 30_000;
const maxFailures = 8;

export type BundleFetcherOptions = {
  transport: Pick<Transport, 'send'>;
  serviceUrl: URL;
  /** Folder that is kept across runs and restarts. */
  folder: string;
  onKeyRefused: (error: FatalError) => void;
  now: () => number;
  random: () => number;
  /** Maximum size of the folder in bytes, and time limit of a download; set by tests. */
  capBytes?: number;
  timeoutMs?: number;
};

/** Creates the bundle fetcher. It rejects with AgentError BUNDLE_UNAVAILABLE or DISK_FULL, or the signal's reason. */
export function createBundleFetcher(options: BundleFetcherOptions): FetchBundle {
  const shelf = createBundleShelf(options);
  const downloads = new Map<string, { done: Promise<void>; waiting: number; abort: AbortController }>();

  /**
   * Waits for a download that all runs with the same bundle share; the download is aborted when no run waits for it.
   */
  const share = async (bundle: Bundle, signal: AbortSignal): Promise<void> => {
    let download = downloads.get(bundle.digest);
    if (download === undefined) {
      const abort = new AbortController();
      const done = downloadOnce(bundle, { ...options, shelf, signal: abort.signal }).finally(() =>
        downloads.delete(bundle.digest),
      );
      done.catch(() => undefined); // reported to those who wait
      download = { done, waiting: 0, abort };
      downloads.set(bundle.digest, download);
    }
    download.waiting += 1;
    try {
      await untilAborted(download.done, signal);
    } finally {
      download.waiting -= 1;
      if (download.waiting === 0) {
        download.abort.abort(new AgentError('INTERNAL', 'no run waits for the bundle'));
        if (downloads.get(bundle.digest) === download) downloads.delete(bundle.digest);
      }
    }
  };

  return async (bundle, { path, signal }) => {
    try {
      for (let tries = 0; ; tries++) {
        signal.throwIfAborted();
        if (!(await shelf.has(bundle))) await share(bundle, signal);
        // Another agent may have just removed it to make room, or the disk may have damaged it.
        if (await shelf.copy(bundle, path)) return;
        if (tries === 2) throw unavailable('it was damaged repeatedly on disk');
      }
    } catch (error) {
      signal.throwIfAborted();
      throw ownError(error);
    }
  };
}

function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError(signal.reason));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

type DownloadOptions = BundleFetcherOptions & {
  shelf: BundleShelf;
  signal: AbortSignal;
};

/** Downloads a bundle to the folder, or rejects. */
async function downloadOnce(bundle: Bundle, options: DownloadOptions): Promise<void> {
  const { shelf, random } = options;
  const timeoutMs = options.timeoutMs ?? maxDownloadMs;
  const signal = withTimeLimit(options.signal, timeoutMs);
  const draft = await shelf.openDraft(bundle);
  try {
    let failures = 0;
    let last = '';
    for (let there = 0; there < bundle.size;) {
      const before = there;
      try {
        there = await receive(bundle, { ...options, signal, file: draft.file, there });
        if (there < bundle.size) throw unavailable(`the service sent ${there} of ${bundle.size} bytes`);
      } catch (error) {
        options.signal.throwIfAborted();
        if (signal.aborted)
          throw unavailable(
            `it was not downloaded within ${timeoutMs / 1000} s${last === '' ? '' : `; last: ${last}`}`,
          );
        if (!(error instanceof ServiceError) || !error.retryable) throw error;
        there = (await draft.file.stat()).size;
        last = error.message;
        failures = there > before ? 1 : failures + 1;
        if (failures > maxFailures) throw unavailable(last);
        await pause(error.retryAfterMs ?? backoffMs(failures, random), signal);
      }
    }
    await draft.keep();
  } catch (error) {
    await draft.discard();
    throw error;
  }
}

/** One call, from byte `there`; returns how many bytes of the bundle are in the file afterwards. */
async function receive(
  bundle: Bundle,
  options: DownloadOptions & { file: FileHandle; there: number },
): Promise<number> {
  const { transport, serviceUrl, file } = options;
  let { there } = options;
  const failures: AgentError[] = [];
  const take = async (status: number, range: string | undefined, body: Readable) => {
    try {
      // An answer that does not continue at byte `there` contains the complete bundle.
      if (status === 200 || !range?.startsWith(`bytes ${there}-`)) {
        if (status === 206) throw unavailable('the service sent a different range from the one requested');
        await file.truncate(0);
        there = 0;
      }
      for await (const part of body) {
        const chunk = part as Buffer; // a response body has no encoding
        if (there + chunk.length > bundle.size) throw unavailable(`it is longer than ${bundle.size} bytes`);
        await writeAll(file, chunk, there);
        there += chunk.length;
      }
    } catch (error) {
      const code = codeOf(error);
      if (error instanceof AgentError) failures.push(error);
      else if (code === 'ENOSPC' || code === 'EDQUOT') failures.push(diskFull(error));
      throw error;
    }
  };
  try {
    const answer = await transport.send({
      method: 'GET',
      path: bundlePath.replace(':key', encodeURIComponent(bundle.key)),
      headers: there === 0 ? {} : { range: `bytes=${there}-`, 'if-range': `"${bundle.digest}"` },
      body: null,
      idleMs: stalledMs,
      answerBytes: 64 * 1024,
      receive: ({ status, headers }, body) =>
        status === 200 || status === 206 ? take(status, headers['content-range'], body) : null,
      signal: options.signal,
    });
    if (answer.status === 200 || answer.status === 206) return there;
    if (answer.status === 416 && there > 0) {
      await file.truncate(0);
      throw new ServiceError('SERVICE_UNREACHABLE', 'the service does not have this range of the bundle', {
        retryable: true,
      });
    }
    throw classify('bundle', answer, serviceUrl);
  } catch (error) {
    if (failures[0] !== undefined) throw failures[0];
    if (error instanceof FatalError) options.onKeyRefused(error);
    throw error;
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

function unavailable(why: string, cause?: unknown): AgentError {
  return new AgentError('BUNDLE_UNAVAILABLE', `the code bundle is not available: ${why}`, { cause });
}

function diskFull(cause: unknown): AgentError {
  return new AgentError('DISK_FULL', 'not enough disk space for the code bundle', { cause });
}

function ownError(error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  const { code, message } = toError(error) as NodeJS.ErrnoException; // system errors have a code
  if (error instanceof ServiceError || error instanceof FatalError) return unavailable(message, error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(error);
  return new AgentError('INTERNAL', `the code bundle cannot be stored: ${message}`, { cause: error });
}
