import type { Socket } from 'node:net';

/** Most of an answer that is read. */
export const maxResponseBytes = 64 * 1024;
/** After so long without a byte an answer counts as whole. */
const quietMs = 50;
/** An answer that is not `enough` yet, or never falls quiet, is read for so long after its first byte. */
const patienceMs = 1000;

export type TcpResponse = {
  data: Buffer;
  /** Moments (performance.now); null = nothing came. */
  firstByteAt: number | null;
  lastByteAt: number | null;
  /** Why reading ended. */
  ended: 'closed' | 'enough' | 'full';
};

/**
 * Reads an answer of unknown length. With `enough` null its first chunk is all. Else it ends when the peer closes, at
 * 64 KiB, and once 50 ms pass without a byte and `enough(data)` holds; after 1 s at the latest. That wait is no part of the
 * answer: its time ends with `lastByteAt`. Rejects with the socket's error, unless bytes came before it, or `signal.reason`.
 * Leaves the socket to the caller.
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
    let patience: NodeJS.Timeout | null = null;
    const stop = () => {
      if (quiet !== null) clearTimeout(quiet);
      if (patience !== null) clearTimeout(patience);
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
        patience ??= setTimeout(() => finish('enough'), patienceMs);
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
