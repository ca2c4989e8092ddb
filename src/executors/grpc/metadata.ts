import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { shortened } from '../../shortened.ts';

/** Metadata of calls: headers with rules of their own. */

export type Metadata = { key: string; value: string }[];

/** As many entries and characters as results show. */
const maxEntries = 100;
const maxValue = 8192;

const legalKey = /^[0-9a-z_.-]+$/;
/** Headers that belong to the call itself. */
const reserved = new Set(['te', 'content-type', 'user-agent', 'host', 'connection', 'content-length']);

/** Why a key may not be sent; null = it may. */
export function keyProblem(key: string): string | null {
  const lower = key.toLowerCase();
  if (!legalKey.test(lower)) return 'may have letters, digits and the signs _ . - only';
  return lower.startsWith('grpc-') || reserved.has(lower) ? 'is reserved by gRPC' : null;
}

/** Headers of `metadata`; a key may occur several times. The values of keys that end with -bin are base64. */
export function headersOf(metadata: Metadata): OutgoingHttpHeaders {
  const headers: { [name: string]: string[] } = {};
  for (const { key, value } of metadata) {
    const name = key.toLowerCase();
    const sent = name.endsWith('-bin')
      ? Buffer.from(value, 'base64').toString('base64').replace(/=+$/, '')
      : // Metadata is ASCII; other characters would be refused by the library, line breaks first of all.
        value.replaceAll(/[^\x20-\x7e]/g, '?');
    (headers[name] ??= []).push(sent);
  }
  return headers;
}

/** The metadata of a header block, without the headers of HTTP and of gRPC itself. */
export function metadataOf(headers: IncomingHttpHeaders): Metadata {
  const metadata: Metadata = [];
  for (const [key, value] of Object.entries(headers)) {
    if (key.startsWith(':') || key.startsWith('grpc-') || reserved.has(key) || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      if (metadata.length < maxEntries) metadata.push({ key, value: shortened(one, maxValue) });
    }
  }
  return metadata;
}

/** grpc-message is percent-encoded UTF-8; a broken one is shown as it came. */
export function statusMessageOf(text: string): string {
  try {
    return shortened(decodeURIComponent(text), maxValue);
  } catch {
    return shortened(text, maxValue);
  }
}
