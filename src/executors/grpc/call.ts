import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { FrameError, FrameReader, unpacked, type Frame } from './frames.ts';
import { headersOf, metadataOf, statusMessageOf, type Metadata } from './metadata.ts';

/** Calls over one HTTP/2 connection, whatever they are about. */

/** What a call is made of. `messages` are framed already; all of them are sent at once. */
export type CallRequest = {
  path: string;
  authority: string;
  secure: boolean;
  metadata: Metadata;
  messages: readonly Buffer[];
  compression: 'none' | 'gzip';
  /** The deadline that the server is given, in milliseconds; null = none. */
  timeoutMs: number | null;
  userAgent: string;
};

export type CallLimits = {
  maxMessageBytes: number;
  /** The call is cancelled after that many messages. */
  maxMessages: number;
  /** False: one message and the status are expected. */
  isStream: boolean;
};

/** What came of a call, filled in as it goes, so that a failure keeps it. `status` null = the server named none. */
export type CallAnswer = {
  httpStatus: number | null;
  contentType: string | null;
  status: number | null;
  statusMessage: string;
  metadata: Metadata;
  trailers: Metadata;
  messages: Buffer[];
  /** We cancelled the rest of a stream. */
  cancelled: boolean;
};

export const emptyAnswer = (): CallAnswer => ({
  httpStatus: null,
  contentType: null,
  status: null,
  statusMessage: '',
  metadata: [],
  trailers: [],
  messages: [],
  cancelled: false,
});

/** All messages of an answer together; a stream of large ones may not cost more memory. */
const maxTotalBytes = 32 * 1024 * 1024;

/** Begins HTTP/2 on a connection. Errors of the session come as errors of its streams. */
export function openSession(socket: Socket, origin: string): ClientHttp2Session {
  const session = connect(origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: 1_048_576, maxHeaderListSize: 65_536 },
    maxHeaderListPairs: 256,
    maxSessionMemory: 48,
  });
  session.on('error', () => undefined);
  return session;
}

/** The deadline as gRPC writes it: at most eight digits and a unit. */
const deadlineOf = (timeoutMs: number) => `${Math.max(1, Math.ceil(timeoutMs))}m`;

/**
 * Makes a call and fills `answer`. Resolves when the server has ended it, or after `maxMessages`. Rejects with the
 * connection's error, FrameError, or `signal.reason`. `onHead`: the first byte of the answer is there.
 */
export async function makeCall(
  session: ClientHttp2Session,
  request: CallRequest,
  io: { answer: CallAnswer; limits: CallLimits; signal: AbortSignal; onHead?: () => void },
): Promise<void> {
  const { answer, limits, signal } = io;
  let encoding = 'identity';
  const frames: Frame[] = [];
  await new Promise<void>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const reader = new FrameReader(limits.maxMessageBytes);
    let received = 0;
    let stream: ClientHttp2Stream | null = null;
    let sessionError: Error | null = null;
    const onSessionError = (error: Error) => {
      sessionError = error;
    };
    const settle = (error: unknown) => {
      signal.removeEventListener('abort', onAbort);
      session.off('error', onSessionError);
      if (stream !== null && !stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      if (error === null) resolve();
      else reject(error as Error);
    };
    const onAbort = () => settle(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    session.on('error', onSessionError);
    try {
      stream = session.request({
        ...headersOf(request.metadata),
        ':method': 'POST',
        ':path': request.path,
        ':scheme': request.secure ? 'https' : 'http',
        ':authority': request.authority,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...(request.timeoutMs === null ? {} : { 'grpc-timeout': deadlineOf(request.timeoutMs) }),
        'grpc-accept-encoding': 'identity,gzip',
        ...(request.compression === 'none' ? {} : { 'grpc-encoding': request.compression }),
        'user-agent': request.userAgent,
      });
    } catch (error: unknown) {
      settle(error);
      return;
    }
    stream.on('response', (headers) => {
      io.onHead?.();
      answer.httpStatus = Number(headers[':status']) || null;
      answer.contentType = headers['content-type'] ?? null;
      encoding = String(headers['grpc-encoding'] ?? 'identity').toLowerCase();
      answer.metadata = metadataOf(headers);
      readStatus(headers, answer);
      if (!isGrpc(answer)) settle(null);
    });
    stream.on('trailers', (headers: IncomingHttpHeaders) => {
      answer.trailers = metadataOf(headers);
      readStatus(headers, answer);
    });
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const frame of reader.push(chunk)) {
          received += frame.bytes.length;
          if (received > maxTotalBytes)
            throw new FrameError(`the messages have more than ${maxTotalBytes} bytes together`, true);
          frames.push(frame);
          if (frames.length < limits.maxMessages) continue;
          // The answer of a unary method is not cut off, because its status is still to come.
          if (limits.isStream) {
            answer.cancelled = true;
            settle(null);
            return;
          }
          if (frames.length > limits.maxMessages) throw new FrameError('a unary call has several answers');
        }
      } catch (error: unknown) {
        settle(error);
      }
    });
    stream.on('error', (error: Error) => settle(sessionError ?? error));
    stream.on('close', () => {
      if (answer.status === null && reader.isInside) {
        settle(new FrameError('the answer ended in the middle of a message'));
        return;
      }
      settle(sessionError);
    });
    for (const message of request.messages) stream.write(message);
    stream.end();
  });
  let total = 0;
  for (const frame of frames) {
    const message = await unpacked(frame, { encoding, maxBytes: limits.maxMessageBytes });
    total += message.length;
    if (total > maxTotalBytes)
      throw new FrameError(`the messages unpack to more than ${maxTotalBytes} bytes together`, true);
    answer.messages.push(message);
  }
}

/** Whether the answer is gRPC's at all, and not that of a web server or a proxy. */
export const isGrpc = ({ httpStatus, contentType }: CallAnswer): boolean =>
  httpStatus === 200 && /^application\/grpc(?:$|[+;])/i.test(contentType ?? '');

function readStatus(headers: IncomingHttpHeaders, answer: CallAnswer): void {
  const { 'grpc-status': status, 'grpc-message': message } = headers;
  if (typeof status === 'string' && /^\d{1,3}$/.test(status)) answer.status = Number(status);
  if (typeof message === 'string') answer.statusMessage = statusMessageOf(message);
}
