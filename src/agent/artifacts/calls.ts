import { createReadStream } from 'node:fs';
import { FatalError, ServiceError } from '../../errors.ts';
import { artifactHeaders, artifactPath } from '../../protocol/agent-calls.ts';
import type { StoredArtifact } from './stored-artifact.ts';
import { classify } from '../link/client.ts';
import type { Transport } from '../link/transport.ts';

/** The two calls that upload artifacts: one asks how many bytes the service has, the other sends the rest. */
export type ArtifactCalls = {
  /**
   * Bytes that the service has; null if the answer does not contain it. Rejects with ServiceError or the signal's
   * reason.
   */
  stored: (
    artifact: StoredArtifact,
    signal: AbortSignal,
  ) => Promise<{ length: number; isStored: boolean } | null>;
  /**
   * Sends the file from byte `from`; true = the service has all of it. Rejects with ServiceError (SERVICE_REFUSED
   * with its status if the service itself refused), FatalError KEY_REFUSED, or the signal's reason.
   */
  send: (
    artifact: StoredArtifact,
    from: number,
    options: { signal: AbortSignal; onProgress: () => void },
  ) => Promise<boolean>;
};

/** A connection without any progress for this time is closed. */
const stalledMs = 60_000;
const answerBytes = 64 * 1024;
const readBytes = 256 * 1024;

export function createArtifactCalls(options: {
  transport: Pick<Transport, 'send'>;
  serviceUrl: URL;
  onKeyRefused: (error: FatalError) => void;
}): ArtifactCalls {
  const { transport, serviceUrl } = options;
  const pathOf = ({ jobId, attempt, name }: StoredArtifact) =>
    artifactPath
      .replace(':jobId', encodeURIComponent(jobId))
      .replace(':attempt', String(attempt))
      .replace(':name', encodeURIComponent(name));

  return {
    stored: async (artifact, signal) => {
      const answer = await transport.send({
        method: 'HEAD',
        path: pathOf(artifact),
        headers: { [artifactHeaders.leaseToken]: artifact.leaseToken },
        body: null,
        idleMs: 15_000,
        answerBytes,
        signal,
      });
      const { [artifactHeaders.length]: length, [artifactHeaders.state]: state } = answer.headers;
      // Other statuses without a body are ignored here: the answer to the PUT reports the error.
      if (answer.status !== 200 || typeof length !== 'string' || !/^\d+$/.test(length)) return null;
      return { length: Number(length), isStored: state === 'stored' };
    },
    send: async (artifact, from, { signal, onProgress }) => {
      const { path, size, sha256 } = artifact;
      const body = size === 0 ? null : createReadStream(path, { start: from, highWaterMark: readBytes });
      body?.on('data', onProgress);
      const answer = await transport.send({
        method: 'PUT',
        path: pathOf(artifact),
        headers: {
          'content-type': artifact.contentType,
          'content-length': size - from,
          'content-range': size === 0 ? 'bytes */0' : `bytes ${from}-${size - 1}/${size}`,
          [artifactHeaders.leaseToken]: artifact.leaseToken,
          [artifactHeaders.type]: artifact.type,
          [artifactHeaders.digest]: `sha-256=:${sha256}:`,
        },
        body,
        idleMs: stalledMs,
        answerBytes,
        signal,
      });
      if (answer.status === 200 || answer.status === 201) return isStored(answer.body);
      const error = classify('artifact', answer, serviceUrl);
      if (error instanceof FatalError) options.onKeyRefused(error);
      throw error;
    },
  };
}

function isStored(body: Buffer): boolean {
  try {
    const answer = JSON.parse(body.toString('utf8')) as { state?: unknown }; // checked below
    if (answer.state === 'stored') return true;
    if (answer.state === 'pending') return false;
  } catch {
    // Not JSON, so not from the service.
  }
  const message = 'artifact: the response does not come from the service';
  throw new ServiceError('SERVICE_UNREACHABLE', message, { retryable: true });
}
