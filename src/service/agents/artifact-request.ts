import type { FastifyRequest } from 'fastify';
import { artifactHeaders, artifactNamePattern, protocolLimits } from '../../protocol/agent-calls.ts';
import { artifactTypes } from '../../protocol/result.ts';
import type { ArtifactKey } from '../artifacts/statements.ts';
import { badRequest, HttpError } from '../http/errors.ts';
import { uuidPattern } from '../engine/ids.ts';

/** Parses the head of an artifact call strictly, because its parts end up in paths, rows and responses. */

const longestContentType = 200;

/** Identifies the file. Throws HttpError 400 or 404. */
export function readKey(request: FastifyRequest): ArtifactKey {
  const { jobId, attempt, name } = request.params as { jobId: string; attempt: string; name: string }; // of the path
  if (!artifactNamePattern.test(name) || /^\.+$/.test(name)) {
    throw badRequest({ name: ['must have 1 to 200 letters, digits, dots, hyphens and underscores'] });
  }
  if (!/^[1-9]\d{0,2}$/.test(attempt) || Number(attempt) > 100) {
    throw badRequest({ attempt: ['must be a number from 1 to 100'] });
  }
  const leaseToken = headerOf(request, artifactHeaders.leaseToken);
  if (leaseToken === null || !uuidPattern.test(leaseToken)) {
    throw badRequest({ [artifactHeaders.leaseToken]: ['must be the token of the lease'] });
  }
  if (!uuidPattern.test(jobId)) throw noSuchLease();
  return { jobId, attempt: Number(attempt), leaseToken, name };
}

/** For a missing job, a job of another account, and a wrong token: the answer does not distinguish them. */
export function noSuchLease(): HttpError {
  return new HttpError(404, 'No job with this id has this lease token and a stored result of that attempt.', {
    [artifactHeaders.leaseToken]: ['is not a token of this job'],
  });
}

/** A run that the agent made itself is known once its first result has arrived. The agent tries again. */
export function resultNotKnown(): HttpError {
  return new HttpError(503, 'No result of this run has arrived yet: send the file again.');
}

export type ArtifactHead = {
  type: string;
  contentType: string;
  sha256: Buffer;
  /** Size of the complete file, and the start and end of this part (the end is the byte after its last). */
  size: number;
  from: number;
  to: number;
};

/** The announced file and range. Throws HttpError 400, 411 or 413. */
export function readHead(request: FastifyRequest): ArtifactHead {
  const type = headerOf(request, artifactHeaders.type) ?? 'file';
  if (!artifactTypes.some((known) => known === type)) {
    throw badRequest({ [artifactHeaders.type]: [`must be one of ${artifactTypes.join(', ')}`] });
  }
  const contentType = headerOf(request, 'content-type') ?? 'application/octet-stream';
  if (contentType.length > longestContentType || !/^[\x20-\x7e]+$/.test(contentType)) {
    throw badRequest({ 'content-type': [`must be at most ${longestContentType} printable letters`] });
  }
  return { type, contentType, sha256: readDigest(request), ...readRange(request) };
}

function readDigest(request: FastifyRequest): Buffer {
  const header = headerOf(request, artifactHeaders.digest) ?? headerOf(request, 'digest') ?? '';
  const encoded = /(?:^|[\s,])sha-256=:?([A-Za-z0-9+/]{43}=):?(?:$|[\s,])/i.exec(header)?.[1];
  if (encoded === undefined) {
    throw badRequest({ [artifactHeaders.digest]: ['must be sha-256=:<base64>: of the whole file'] });
  }
  return Buffer.from(encoded, 'base64');
}

function readRange(request: FastifyRequest): { size: number; from: number; to: number } {
  const length = lengthOf(request);
  const header = headerOf(request, 'content-range');
  if (header === null) {
    if (length === null) {
      throw new HttpError(
        411,
        'The length of the artifact is missing. Send content-length or content-range.',
        {
          'content-length': ['is required'],
        },
      );
    }
    return withinLimit({ size: length, from: 0, to: length });
  }
  const [, first, last, empty, total] =
    /^bytes (?:(\d{1,12})-(\d{1,12})|(\*))\/(\d{1,12})$/.exec(header) ?? [];
  const size = Number(total ?? NaN);
  const from = empty === undefined ? Number(first) : 0;
  const to = empty === undefined ? Number(last) + 1 : 0;
  // Without a range the file is empty, because no range can describe zero bytes.
  if (
    Number.isNaN(size) ||
    from >= to !== (empty !== undefined) ||
    to > size ||
    (to === 0) !== (size === 0)
  ) {
    throw badRequest({
      'content-range': ['must be bytes <first>-<last>/<size>, or bytes */0 for an empty file'],
    });
  }
  withinLimit({ size, from, to });
  if (length !== null && length !== to - from) {
    throw badRequest({ 'content-length': ['does not match the length of the content-range'] });
  }
  return { size, from, to };
}

function withinLimit<R extends { size: number }>(range: R): R {
  if (range.size > protocolLimits.artifactBytes) {
    const limit = protocolLimits.artifactBytes;
    throw new HttpError(413, `The artifact has ${range.size} bytes. The limit is ${limit} bytes.`, {
      'content-range': [`must be at most ${limit} bytes`],
    });
  }
  return range;
}

function lengthOf(request: FastifyRequest): number | null {
  const header = headerOf(request, 'content-length');
  return header === null ? null : Number(header);
}

function headerOf(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
