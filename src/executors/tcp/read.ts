import type { Socket } from 'node:net';

/** Maximum number of bytes of an answer that are read. */
export const maxResponseBytes = 64 * 1024;
/** After this time without a byte an answer counts as complete. */
const quietMs = 50;
/** Maximum reading time after the first byte, for an answer that is not `enough` yet or never pauses. */
const maxReadMs = 1000;

export type TcpResponse = {
  data: Buffer;
  /** Times (performance.now); null = nothing was received. */
  firstByteAt: number | null;
  lastByteAt: number | null;
  /** Why reading ended. */
  ended: 'closed' | 'enough' | 'full';
};

/**
 * Reads an answer of unknown length. With `enough` null, the first chunk is the answer. Otherwise it ends when the
 * peer closes, at 64 KiB, or once 50 ms pass without a byte and `enough(data)` holds; after 1 s at the latest. That
 * wait does not count: the answer's time ends with `lastByteAt`. Rejects with the socket's error, unless bytes were
 * received before it, or with `signal.reason`. Leaves the socket to the caller.
 */
export function readResponse(
  socket: Socket,
  options: { signal: AbortSignal; enough: ((data: Buffer) => boolean) | null },
): Promise<TcpResponse> {
  const { signal, enough } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    let firstByteAt: number | null = null;
    let lastByteAt: number | null = null;
    let quiet: NodeJS.Timeout | null = null;
    let pauseMs: NodeJS.Timeout | null = null;
    const stop = () => {
      if (quiet !== null) clearTimeout(quiet);
      if (pauseMs !== null) clearTimeout(pauseMs);
      signal.removeEventListener('abort', onAbort);
      socket.off('data', onData);
      socket.off('end', onClosed);
      socket.off('close', onClosed);
      socket.off('error', onError);
      socket.pause();
    };
    const finish = (ended: TcpResponse['ended']) => {
      stop();
      const data = Buffer.concat(chunks).subarray(0, maxResponseBytes);
      resolve({ data, firstByteAt, lastByteAt, ended });
    };
    const onAbort = () => {
      stop();
      reject(signal.reason);
    };
    const onClosed = () => finish('closed');
    const onError = (error: Error) => {
      if (size > 0) {
        finish('closed');
        return;
      }
      stop();
      reject(error);
    };
    const onQuiet = () => {
      if (enough === null || enough(Buffer.concat(chunks))) finish('enough');
    };
    const onData = (chunk: Buffer) => {
      lastByteAt = performance.now();
      firstByteAt ??= lastByteAt;
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxResponseBytes) {
        finish('full');
      } else if (enough === null) {
        finish('enough');
      } else {
        pauseMs ??= setTimeout(() => finish('enough'), maxReadMs);
        if (quiet === null) quiet = setTimeout(onQuiet, quietMs);
        else quiet.refresh();
      }
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', onError);
    socket.on('end', onClosed);
    socket.on('close', onClosed);
    socket.on('data', onData);
  });
}
