import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { artifactHeaders, artifactPath, protocolLimits } from '../../protocol/agent-calls.ts';
import type { ArtifactAnswer, RequestOf } from '../../protocol/routes.ts';
import { noSuchLease, readHead, readKey, resultNotKnown, type ArtifactHead } from './artifact-request.ts';
import { DiskFull, WrongPlace, type ArtifactFiles } from '../artifacts/files.ts';
import { TooLong } from '../artifacts/upload-body.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import {
  announceArtifact,
  artifactsOfAttempt,
  findArtifact,
  mayBecomeKnown,
  mayUploadFiles,
  reannounceArtifact,
  settleArtifact,
  type ArtifactKey,
  type ArtifactRow,
} from '../artifacts/statements.ts';
import type { Db } from '../db/database.ts';
import { badRequest, conflict, HttpError } from '../http/errors.ts';
import { uuidPattern, uuidv7 } from '../engine/ids.ts';
import { codeOf } from '../../system-errors.ts';

/** Receives files of runs from agents: in one or several parts, before or after the result, and possibly repeated. */

export type ArtifactDeps = { db: Db; files: ArtifactFiles; now: () => number; log: Log };

const noDigest = Buffer.alloc(32);

/** Adds HEAD and PUT of artifacts in a separate scope, because their bodies are not JSON. */
export async function registerAgentArtifacts(
  app: FastifyInstance,
  deps: ArtifactDeps & { locationOf: (request: FastifyRequest) => Promise<AgentLocation> },
): Promise<void> {
  const { db, files, locationOf } = deps;
  const writers = createWriters();
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // The route reads the body as a stream.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

    const fenced = async (request: FastifyRequest): Promise<{ key: ArtifactKey; accountId: string }> => {
      const { accountId } = await locationOf(request);
      const key = readKey(request);
      if (!(await mayUploadFiles(db, { ...key, accountId }))) {
        throw (await mayBecomeKnown(db, { ...key, accountId })) ? resultNotKnown() : noSuchLease();
      }
      return { key, accountId };
    };

    scope.head(artifactPath, async (request, reply) => {
      const { key } = await fenced(request);
      const row = await findArtifact(db, key);
      const length =
        row === undefined ? 0 : row.state === 'stored' ? row.size : await files.partLength(row.id);
      return reply
        .header(artifactHeaders.length, length)
        .header(artifactHeaders.state, row?.state ?? 'pending')
        .header('content-length', length)
        .send();
    });

    scope.put(artifactPath, async (request, reply): Promise<ArtifactAnswer> => {
      const { key, accountId } = await fenced(request);
      const head = await readOrRefuse(deps, request, { key, accountId });
      const row = await announced(deps, { key, accountId, head });
      if (row.state === 'stored') return { state: 'stored', size: row.size };
      // A broken connection may still be open here; the latest upload wins.
      return writers.alone(row.id, (signal) => receive(deps, row, { head, signal, request, reply }));
    });
  });
}

/** Reads the head. Records a file that is too large, so that the run's result shows it. */
async function readOrRefuse(
  { db, now }: ArtifactDeps,
  request: FastifyRequest,
  { key, accountId }: { key: ArtifactKey; accountId: string },
): Promise<ArtifactHead> {
  try {
    return readHead(request);
  } catch (error) {
    if (error instanceof HttpError && error.statusCode === 413) {
      await noteState(db, { ...key, accountId, type: 'file', state: 'refused', now: new Date(now()) });
    }
    throw error;
  }
}

/** Returns the row of the file, new or existing. Throws HttpError 409 or 413. */
async function announced(
  { db, files, now }: ArtifactDeps,
  { key, accountId, head }: { key: ArtifactKey; accountId: string; head: ArtifactHead },
): Promise<ArtifactRow> {
  const { type, contentType, size, sha256 } = head;
  let row = await findArtifact(db, key);
  if (row === undefined || (row.state !== 'stored' && size > row.size)) {
    const { count, bytes } = await artifactsOfAttempt(db, key);
    const { artifactsOfAttempt: maxFiles, attemptArtifactBytes: maxBytes } = protocolLimits;
    if ((row === undefined && count >= maxFiles) || bytes - (row?.size ?? 0) + size > maxBytes) {
      throw new HttpError(413, 'The attempt has reached the limit of artifacts or of their total size.', {
        name: [`exceeds ${protocolLimits.artifactsOfAttempt} artifacts, or the total size`],
      });
    }
  }
  if (row === undefined) {
    const time = now();
    const fresh = { ...key, id: uuidv7(time), type, contentType, size, sha256, state: 'pending' as const };
    row = await announceArtifact(db, { ...fresh, accountId, now: new Date(time) });
  }
  if (row.size === size && row.sha256.equals(sha256)) return row;
  if (row.state === 'stored') {
    throw conflict('A different file with this name is already stored for the attempt.', {
      name: ['is taken'],
    });
  }
  await files.remove(row.id);
  await reannounceArtifact(db, { id: row.id, type, contentType, size, sha256 });
  return { ...row, type, contentType, size, sha256, state: 'pending' };
}

async function receive(
  { db, files, now, log }: ArtifactDeps,
  row: ArtifactRow,
  call: { head: ArtifactHead; signal: AbortSignal; request: FastifyRequest; reply: FastifyReply },
): Promise<ArtifactAnswer> {
  const { head, request, reply } = call;
  const there = await files.partLength(row.id);
  if (head.from > there) {
    throw beyond(there);
  }
  const { length, sha256 } = await files
    .write(row.id, {
      at: head.from,
      size: head.to,
      body: (request.body ?? request.raw) as Readable, // the scope's parser passes the stream on; undefined without a body
      signal: call.signal,
    })
    .catch((error: unknown) => {
      throw refusalOf(error, row, log);
    });
  if (length < head.size) return { state: 'pending', size: length };
  const digest = sha256 ?? (await files.digest(row.id));
  if (!digest.equals(row.sha256)) {
    await files.remove(row.id);
    throw new HttpError(422, 'The artifact does not match its digest. Send it again.', {
      [artifactHeaders.digest]: ['does not match the received bytes'],
    });
  }
  await files.finish(row.id);
  await settleArtifact(db, { id: row.id, state: 'stored', now: new Date(now()) });
  reply.code(201);
  return { state: 'stored', size: length };
}

const beyond = (there: number) =>
  new HttpError(416, `The service has ${there} bytes of the artifact. Continue at that offset.`, {
    'content-range': [`must begin at ${there} or earlier`],
  });

/** Converts a failed write to the error for the agent. After a broken body, nobody reads the response. */
function refusalOf(error: unknown, row: ArtifactRow, log: Log): Error {
  if (error instanceof DiskFull) {
    log.error({ artifact: row.name, size: row.size }, 'the disk for artifacts is full');
    return new HttpError(507, 'The service has no space for the artifact. Try again later.', {});
  }
  if (error instanceof TooLong) return badRequest({ body: [toError(error).message] });
  if (error instanceof WrongPlace) return beyond(error.length);
  const code = codeOf(error);
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR') {
    return new HttpError(400, 'The body is incomplete.', { body: ['is not complete'] });
  }
  return toError(error);
}

/** Records files that agents report as refused or lost. Returns how many were recorded. */
export async function noteArtifactStates(
  { db, now }: Pick<ArtifactDeps, 'db' | 'now'>,
  { accountId }: Pick<AgentLocation, 'accountId'>,
  artifacts: RequestOf<'artifactStates'>['artifacts'],
): Promise<number> {
  let accepted = 0;
  for (const artifact of artifacts) {
    if (!uuidPattern.test(artifact.jobId) || !uuidPattern.test(artifact.leaseToken)) continue;
    if (!(await mayUploadFiles(db, { ...artifact, accountId }))) continue;
    await noteState(db, { ...artifact, accountId, now: new Date(now()) });
    accepted += 1;
  }
  return accepted;
}

async function noteState(
  db: Db,
  artifact: ArtifactKey & { accountId: string; type: string; state: 'refused' | 'lost'; now: Date },
): Promise<void> {
  const known = await findArtifact(db, artifact);
  if (known === undefined) {
    const { count } = await artifactsOfAttempt(db, artifact);
    if (count >= protocolLimits.artifactsOfAttempt) return;
  }
  const row =
    known ??
    (await announceArtifact(db, {
      ...artifact,
      id: uuidv7(artifact.now.getTime()),
      contentType: 'application/octet-stream',
      size: 0,
      sha256: noDigest,
    }));
  if (row.state !== artifact.state) await settleArtifact(db, { ...artifact, id: row.id });
}

/** Allows one writer per file in this process. A later writer stops the earlier one and waits until it has finished. */
function createWriters() {
  const writers = new Map<string, { controller: AbortController; done: Promise<unknown> }>();
  return {
    alone: async <T>(id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
      const before = writers.get(id);
      const controller = new AbortController();
      const run = async () => {
        before?.controller.abort(new Error('a later upload of the same artifact has started'));
        await before?.done;
        controller.signal.throwIfAborted();
        return work(controller.signal);
      };
      const result = run();
      const done = result.catch(() => undefined);
      writers.set(id, { controller, done });
      try {
        return await result;
      } finally {
        if (writers.get(id)?.controller === controller) writers.delete(id);
      }
    },
  };
}
