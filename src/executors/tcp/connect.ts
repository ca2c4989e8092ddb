import { connect, type Socket } from 'node:net';
import type { ResolvedAddress } from '../interface/network.ts';

/**
 * One address that was tried. `error` is absent if its connection was used, TIMEOUT if the attempt ended before it
 * answered, ABANDONED if another address answered first.
 */
export type ConnectAttempt = { address: string; ms: number; error?: string };

/** Time after which the next address is tried in parallel with the pending ones (RFC 8305 section 5). */
const staggerMs = 250;

/**
 * Connects to the first of `addresses` that answers. Each starts 250 ms after the previous one, or as soon as that
 * one has failed, so that an unresponsive first address costs little. `attempts` is filled in order while it runs;
 * read it after a failure too. The socket has no listeners, and TCP_NODELAY unless `noDelay` is false; the others are
 * destroyed. Rejects with the last address's error (errno in `code`, `address`, `port`) or `signal.reason`. It has no
 * time limit except the operating system's.
 */
export function connectTcp(
  target: { addresses: readonly ResolvedAddress[]; port: number },
  options: { signal: AbortSignal; attempts: ConnectAttempt[]; noDelay?: boolean; localAddress?: string },
): Promise<Socket> {
  const { addresses, port } = target;
  const { signal, attempts } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const pending = new Map<Socket, (why: string) => void>();
    let next = 0;
    let timer: NodeJS.Timeout | null = null;
    let done = false;
    const finish = (why: string) => {
      done = true;
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      for (const [socket, close] of pending) {
        close(why);
        socket.destroy();
      }
      pending.clear();
    };
    const onAbort = () => {
      finish('TIMEOUT');
      reject(signal.reason);
    };
    const launch = () => {
      timer = null;
      const target = addresses[next];
      if (target === undefined) return;
      next += 1;
      const attempt: ConnectAttempt = { address: target.address, ms: 0 };
      attempts.push(attempt);
      const startedAt = performance.now();
      const socket = connect({
        host: target.address,
        port,
        family: target.family,
        noDelay: options.noDelay ?? true,
        autoSelectFamily: false,
        ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
      });
      const end = (error: string | null) => {
        attempt.ms = Math.round((performance.now() - startedAt) * 1000) / 1000;
        if (error !== null) attempt.error = error;
      };
      const onConnect = () => {
        socket.off('error', onError);
        pending.delete(socket);
        end(null);
        finish('ABANDONED');
        resolve(socket);
      };
      const onError = (error: NodeJS.ErrnoException) => {
        socket.off('connect', onConnect);
        pending.delete(socket);
        end(error.code ?? error.message);
        if (done) return;
        if (next < addresses.length) {
          if (timer !== null) clearTimeout(timer);
          launch();
        } else if (pending.size === 0) {
          finish('ABANDONED');
          reject(error);
        }
      };
      // Destroyed sockets may still report an error, which is ignored.
      pending.set(socket, (why) => {
        end(why);
        socket.off('error', onError);
        socket.on('error', () => {});
      });
      socket.once('connect', onConnect);
      socket.once('error', onError);
      if (next < addresses.length) timer = setTimeout(launch, staggerMs);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    launch();
  });
}
