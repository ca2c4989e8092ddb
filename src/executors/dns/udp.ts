import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { decodeAnswer, type DnsMessage, type DnsQuery } from './message.ts';

export type DnsServer = { address: string; port: number };

/** The data collected about one UDP exchange, also while it runs and when it fails. */
export type UdpProgress = {
  /** Queries sent. */
  tries: number;
  /** Datagrams from the server's address that did not match the query. */
  ignored: number;
  /** Why the last of them did not match. */
  lastMismatch: string | null;
};

/**
 * Sends `query` from a new connected socket (random port; the kernel drops other senders' datagrams) and resolves
 * with the answer. Sends it again `resendAtMs` after the start. Datagrams that do not match the query are counted and
 * ignored. Rejects with the socket's error (ECONNREFUSED…), DnsMalformed or `signal.reason`; it has no time limit of
 * its own.
 */
export function exchangeUdp(
  server: DnsServer,
  query: DnsQuery,
  options: {
    signal: AbortSignal;
    resendAtMs: readonly number[];
    progress: UdpProgress;
    localAddress?: string;
  },
): Promise<DnsMessage> {
  const { signal, resendAtMs, progress } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    let socket: Socket | null = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
    let timer: NodeJS.Timeout | null = null;
    const finish = (settle: () => void) => {
      if (socket === null) return;
      socket.close();
      socket = null;
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      settle();
    };
    const fail = (error: unknown) => finish(() => reject(error));
    const onAbort = () => fail(signal.reason);
    const startedAt = performance.now();
    const send = () => {
      progress.tries += 1;
      sent += 1;
      // An error from sending (a full buffer, a firewall) ends the exchange like an error that is received.
      socket?.send(query.bytes, (error) => {
        if (error !== null) fail(error);
      });
      const nextAt = resendAtMs[sent - 1];
      if (nextAt !== undefined)
        timer = setTimeout(send, Math.max(0, nextAt - (performance.now() - startedAt)));
    };
    let sent = 0;
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail);
    socket.on('message', (bytes) => {
      let decoded: ReturnType<typeof decodeAnswer>;
      try {
        decoded = decodeAnswer(bytes, query);
      } catch (error) {
        fail(error);
        return;
      }
      if ('answer' in decoded) {
        const { answer } = decoded;
        finish(() => resolve(answer));
      } else {
        progress.ignored += 1;
        progress.lastMismatch = decoded.mismatch;
      }
    });
    // connect() passes its error to the callback instead of to 'error'.
    const join = () =>
      socket?.connect(server.port, server.address, (...[error]: [Error?]) => {
        if (socket === null) return;
        if (error) fail(error);
        else send();
      });
    if (options.localAddress === undefined) join();
    else socket.bind({ address: options.localAddress }, join);
  });
}
