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

/** Code bundles of suites, from the service to the disk: each once for all runs of this agent, resumed when it breaks off. */

type Bundle = Parameters<FetchBundle>[0];

/** From the first byte asked for to the last one on the disk. */
const longestMs = 5 * 60_000;
/** A connection over which nothing moves for so long is given up. */
const stalledMs = 30_000;
const maxFailures = 8;

export type BundleFetcherOptions = {
  transport: Pick<Transport, 'send'>;
  serviceUrl: URL;
  /** Kept across runs and starts. */
  folder: string;
  onKeyRefused: (error: FatalError) => void;
  now: () => number;
  random: () => number;
  /** Bytes that the folder may hold, and times that a download may take: for tests. */
  capBytes?: number;
  timeoutMs?: number;
};

/** Makes what brings bundles. What it rejects with: AgentError BUNDLE_UNAVAILABLE or DISK_FULL, or the signal's reason. */
export function createBundleFetcher(options: BundleFetcherOptions): FetchBundle {
  const shelf = createBundleShelf(options);
  const downloads = new Map<string, { done: Promise<void>; waiting: number; abort: AbortController }>();

  /** Waits for a download that all who want the bundle share; it ends early when nobody wants it any more. */
  const share = async (bundle: Bundle, signal: AbortSignal): Promise<void> => {
    let download = downloads.get(bundle.digest);
    if (download === undefined) {
      const abort = new AbortController();
      const done = downloadOnce(bundle, { ...options, shelf, signal: abort.signal }).finally(() =>
        downloads.delete(bundle.digest),
      );
      done.catch(() => undefined); // whoever waits hears of it
      download = { done, waiting: 0, abort };
      downloads.set(bundle.digest, download);
    }
    download.waiting += 1;
    try {
      await untilAborted(download.done, signal);
    } finally {
      download.waiting -= 1;
      if (download.waiting === 0) {
        download.abort.abort(new AgentError('INTERNAL', 'nobody waits for the bundle'));
        if (downloads.get(bundle.digest) === download) downloads.delete(bundle.digest);
      }
    }
  };

  return async (bundle, { path, signal }) => {
    try {
      for (let tries = 0; ; tries++) {
        signal.throwIfAborted();
        if (!(await shelf.has(bundle))) await share(bundle, signal);
        // Another agent may have made room by removing it just now, or the disk has spoilt it.
        if (await shelf.copy(bundle, path)) return;
        if (tries === 2) throw unavailable('it is damaged again and again on the disk of this agent');
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

/** Brings a bundle into the folder, or rejects. */
async function downloadOnce(bundle: Bundle, options: DownloadOptions): Promise<void> {
  const { shelf, random } = options;
  const timeoutMs = options.timeoutMs ?? longestMs;
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
            `it did not come within ${timeoutMs / 1000} s${last === '' ? '' : `; last: ${last}`}`,
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

/** One call, from byte `there` on; tells how much of the bundle is in the file then. */
async function receive(
  bundle: Bundle,
  options: DownloadOptions & { file: FileHandle; there: number },
): Promise<number> {
  const { transport, serviceUrl, file } = options;
  let { there } = options;
  const failures: AgentError[] = [];
  const take = async (status: number, range: string | undefined, body: Readable) => {
    try {
      // Without a range that goes on where this file ends, it is the whole bundle.
      if (status === 200 || !range?.startsWith(`bytes ${there}-`)) {
        if (status === 206) throw unavailable('the service sent another range than was asked for');
        await file.truncate(0);
        there = 0;
      }
      for await (const part of body) {
        const chunk = part as Buffer; // an answer's body has no encoding
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
      throw new ServiceError('SERVICE_UNREACHABLE', 'the service has no such part of the bundle', {
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
  return new AgentError('BUNDLE_UNAVAILABLE', `the code bundle can't be had: ${why}`, { cause });
}

function diskFull(cause: unknown): AgentError {
  return new AgentError('DISK_FULL', 'no room on the disk for the code bundle', { cause });
}

function ownError(error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  const { code, message } = toError(error) as NodeJS.ErrnoException; // the system's errors have a code
  if (error instanceof ServiceError || error instanceof FatalError) return unavailable(message, error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(error);
  return new AgentError('INTERNAL', `the code bundle can't be kept: ${message}`, { cause: error });
}
