import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Secret } from '../../secrets/secret.ts';

/** Who may use /probe: those with the token, or without one, programs of this machine. */

/** Why a request is refused; null = it is not. */
export function refusalOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  token: Secret | null,
): { status: 401 | 403; why: string } | null {
  // A page in a browser of this machine could send requests, too, and nobody else sends these headers.
  if (headers['sec-fetch-site'] !== undefined || headers.origin !== undefined)
    return { status: 403, why: 'browsers may not use /probe' };
  if (token !== null) {
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    return isEqual(given, token.reveal())
      ? null
      : { status: 401, why: 'the token of PROBE_TOKEN is required' };
  }
  if (isLoopback(socket.remoteAddress ?? '')) return null;
  return { status: 403, why: 'set PROBE_TOKEN to allow /probe from other machines' };
}

function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
}
