import type { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Moments of the last HTTP request of one API call (performance.now()), as Node itself tells them. */
export type Moments = {
  begin: number;
  request: number | null;
  socket: number | null;
  connected: number | null;
  response: number | null;
  end: number | null;
  /** As sent, redirects followed: those of the last one. */
  headers: { [name: string]: unknown } | null;
};

export function newMoments(): Moments {
  return {
    begin: performance.now(),
    request: null,
    socket: null,
    connected: null,
    response: null,
    end: null,
    headers: null,
  };
}

/**
 * Listens to this process's HTTP requests; those made while `storage` holds an API call belong to it. (Playwright sends API
 * requests from the test's own process, with node:http.)
 */
export function watchPhases(
  storage: AsyncLocalStorage<unknown>,
  momentsOf: (call: unknown) => Moments | null,
): void {
  const current = () => momentsOf(storage.getStore());
  const on = (name: string, take: (moments: Moments, message: unknown) => void) =>
    subscribe(name, (message) => {
      try {
        const moments = current();
        if (moments !== null) take(moments, message);
      } catch {
        // Only timings are lost.
      }
    });
  on('http.client.request.start', (moments, message) => {
    const { request } = message as { request: ClientRequest }; // Node documents the message
    moments.request = performance.now();
    moments.socket = moments.connected = moments.response = moments.end = null;
    moments.headers = request.getHeaders();
    // Whether the context reaches the parser's callbacks depends on the release of Node, so the request carries it.
    request.prependOnceListener('response', (response: IncomingMessage) => {
      moments.response = performance.now();
      response.once('end', () => (moments.end = performance.now()));
    });
  });
  on('net.client.socket', (moments, message) => {
    const { socket } = message as { socket: Socket }; // Node documents the message
    moments.socket = performance.now();
    socket.once('connect', () => (moments.connected = performance.now()));
  });
}

/** wait, dns, tcp, firstByte (with TLS) and download add up to total. Milliseconds. */
export function phasesOf(moments: Moments, durationMs: number): { [phase: string]: number } {
  const { request, response } = moments;
  if (request === null || response === null) return { total: rounded(durationMs) };
  const connected = moments.connected ?? request;
  const socket = Math.min(moments.socket ?? connected, connected);
  const download = Math.max(0, (moments.end ?? response) - response);
  const dns = Math.max(0, socket - request);
  const tcp = Math.max(0, connected - socket);
  const firstByte = Math.max(0, response - connected);
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
