import { isIP, type Socket } from 'node:net';
import { HttpFailure } from './failures.ts';
import { shortened } from '../../shortened.ts';

/**
 * A forward proxy: `http` targets are requested in absolute form, `https` ones through CONNECT (RFC 9110 section
 * 9.3.6).
 */
export type Proxy = {
  host: string;
  port: number;
  /** The connection to the proxy itself uses TLS. */
  secure: boolean;
  /** Value of Proxy-Authorization, or null. */
  authorization: string | null;
  /** More headers of CONNECT. */
  connectHeaders?: readonly (readonly [name: string, value: string])[];
  /**
   * What CONNECT names in place of the target's host. Called for each hop, also if there is no CONNECT; it may reject
   * to refuse the target.
   */
  targetFor?: (host: string, secure: boolean) => Promise<string>;
};

/**
 * Throws HttpFailure PROXY_FAILED if `text` is not an http(s) URL. The message never repeats the URL, because it may
 * contain a password.
 */
export function parseProxy(text: string): Proxy {
  let url: URL;
  try {
    url = new URL(text.includes('://') ? text : `http://${text}`);
  } catch {
    throw new HttpFailure('PROXY_FAILED', "the location's proxyUrl is not a URL; use http://host:port");
  }
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw new HttpFailure(
      'PROXY_FAILED',
      `the location's proxyUrl has the scheme ${url.protocol.slice(0, -1)}; http and https are supported`,
    );
  }
  const secure = url.protocol === 'https:';
  return {
    host: url.hostname,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    secure,
    authorization: basicAuthorization(url),
  };
}

/** The Basic credentials of a URL's user information, or null if it has none. */
export function basicAuthorization(url: URL): string | null {
  if (url.username === '' && url.password === '') return null;
  return `Basic ${Buffer.from(`${decoded(url.username)}:${decoded(url.password)}`).toString('base64')}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const maxAnswerBytes = 16_384;

/**
 * Requests a tunnel to `host:port` from a connected proxy; afterwards the socket is connected to the target. Rejects
 * with HttpFailure PROXY_FAILED or `signal.reason`, and destroys the socket.
 */
export function openTunnel(
  socket: Socket,
  options: { host: string; port: number; proxy: Proxy; signal: AbortSignal },
): Promise<void> {
  const { proxy, signal } = options;
  const name = `${proxy.host}:${proxy.port}`;
  const authority = `${isIP(options.host) === 6 ? `[${options.host}]` : options.host}:${options.port}`;
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      socket.off('data', onData).off('error', onError).off('close', onClose);
    };
    const fail = (error: unknown) => {
      finish();
      socket.on('error', () => undefined).destroy();
      reject(error);
    };
    const onAbort = () => fail(signal.reason);
    const onError = (error: Error) =>
      fail(new HttpFailure('PROXY_FAILED', `the proxy ${name} broke the connection: ${error.message}`));
    const onClose = () =>
      fail(
        new HttpFailure(
          'PROXY_FAILED',
          `the proxy ${name} closed the connection instead of answering CONNECT`,
        ),
      );
    const onData = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) {
        if (received.length > maxAnswerBytes) {
          fail(new HttpFailure('PROXY_FAILED', `the proxy ${name} answered CONNECT with more than 16 KiB`));
        }
        return;
      }
      const line = received.toString('latin1', 0, received.indexOf('\r\n'));
      if (!/^HTTP\/1\.[01] 2\d\d(?: |$)/.test(line)) {
        const hint = / 407(?: |$)/.test(line) ? "; set user and password in the location's proxyUrl" : '';
        fail(
          new HttpFailure(
            'PROXY_FAILED',
            `the proxy ${name} refused CONNECT ${authority}: ${shortened(line, 200)}${hint}`,
          ),
        );
        return;
      }
      finish();
      // Bytes after the head belong to the target.
      socket.pause();
      if (received.length > end + 4) socket.unshift(received.subarray(end + 4));
      resolve();
    };
    socket.on('data', onData).once('error', onError).once('close', onClose);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    const credentials = proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
    const more = (proxy.connectHeaders ?? []).map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}${more}\r\n`);
  });
}
