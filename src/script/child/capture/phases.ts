import type { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Times of the last HTTP request of one API call (performance.now()), as Node reports them. */
export type Moments = {
  begin: number;
  /** When the request was made; only newer Node releases report it. */
  created: number | null;
  /** With a new connection: when the socket was created (its name resolved), and when it was connected. */
  socket: number | null;
  connected: number | null;
  sent: number | null;
  response: number | null;
  end: number | null;
  /** When it was sent; with redirects, the last request. */
  headers: { [name: string]: unknown } | null;
};

export function newMoments(): Moments {
  return {
    begin: performance.now(),
    created: null,
    socket: null,
    connected: null,
    sent: null,
    response: null,
    end: null,
    headers: null,
  };
}

/**
 * Listens to this process's HTTP requests. Requests made while `storage` contains an API call belong to that call.
 * (Playwright sends API requests from the test's own process, with node:http.)
 */
export function watchPhases(
  storage: AsyncLocalStorage<unknown>,
  momentsOf: (call: unknown) => Moments | null,
): void {
  const on = (name: string, take: (moments: Moments, message: unknown) => void) =>
    subscribe(name, (message) => {
      try {
        const moments = momentsOf(storage.getStore());
        if (moments !== null) take(moments, message);
      } catch {
        // Only the timings are lost.
      }
    });
  on('http.client.request.created', (moments) => {
    moments.created = performance.now();
    forgetLastHop(moments);
  });
  on('net.client.socket', (moments, message) => {
    const { socket } = message as { socket: Socket }; // documented by Node
    const made = performance.now();
    // If several sockets try at once, one connects.
    socket.once('connect', () => {
      moments.socket = made;
      moments.connected = performance.now();
    });
  });
  on('http.client.request.start', (moments, message) => {
    const { request } = message as { request: ClientRequest }; // documented by Node
    if (moments.response !== null && (moments.connected ?? 0) < moments.response) forgetLastHop(moments);
    moments.sent = performance.now();
    moments.headers = request.getHeaders();
    // It depends on the Node release whether the context reaches the parser's callbacks, so the request carries it.
    request.prependOnceListener('response', (response: IncomingMessage) => {
      moments.response = performance.now();
      response.once('end', () => (moments.end = performance.now()));
    });
  });
}

/** A redirect may be followed over the same connection. */
function forgetLastHop(moments: Moments): void {
  moments.socket = moments.connected = moments.response = moments.end = null;
}

/** Returns phases in milliseconds: wait, dns, tcp, firstByte (with TLS) and download add up to total. */
export function phasesOf(moments: Moments, durationMs: number): { [phase: string]: number } {
  const { begin, created, socket, connected, sent, response } = moments;
  if (response === null) return { total: rounded(durationMs) };
  const asked = created ?? begin;
  const isNew = socket !== null && connected !== null;
  const dns = isNew ? Math.max(0, socket - asked) : 0;
  const tcp = isNew ? connected - socket : 0;
  const firstByte = Math.max(0, response - (isNew ? connected : (sent ?? asked)));
  const download = Math.max(0, (moments.end ?? response) - response);
  return {
    wait: rounded(Math.max(0, durationMs - dns - tcp - firstByte - download)),
    dns: rounded(dns),
    tcp: rounded(tcp),
    firstByte: rounded(firstByte),
    download: rounded(download),
    total: rounded(durationMs),
  };
}

export function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
