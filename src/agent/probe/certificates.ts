import { createHash, type X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { handshake } from '../../executors/http/tls.ts';
import { authorizationCode, issuerPath } from '../../executors/http/tls-facts.ts';
import { parsedCertificate } from '../../native/certificate-object.ts';
import { presentedCertificates } from '../../native/tls-peer.ts';
import type { Gauges } from './gauges.ts';
import type { TlsSettings } from './settings/tls.ts';

/** What a probe says about TLS. */

/** Means that no chain was verified: the zero of the other program's clock. */
const noChain = -62_135_596_800;
const versions: { readonly [protocol: string]: string } = {
  TLSv1: 'TLS 1.0',
  'TLSv1.1': 'TLS 1.1',
  'TLSv1.2': 'TLS 1.2',
  'TLSv1.3': 'TLS 1.3',
};

export type TlsFacts = {
  earliest: number;
  chainExpiry: number;
  info: { [label: string]: string };
  version: string;
  cipher: string;
};

/** Facts about an open connection; null = the server presented no certificate. */
export function tlsFacts(socket: TLSSocket): TlsFacts | null {
  const presented = presentedCertificates(socket);
  const chain = presented.map((raw) => parsedCertificate(raw));
  const [leaf] = chain;
  if (leaf === undefined) return null;
  const earliest = earliestOf(chain);
  return {
    earliest,
    chainExpiry: socket.authorized ? earliestOf(issuerPath(presented)) : noChain,
    info: {
      fingerprint_sha256: createHash('sha256').update(leaf.raw).digest('hex'),
      subject: nameText(leaf.subject),
      issuer: nameText(leaf.issuer),
      subjectalternative: dnsNames(leaf.subjectAltName).join(','),
      serialnumber: leaf.serialNumber.toLowerCase().replace(/^0+(?=.)/, ''),
    },
    version: versions[socket.getProtocol() ?? ''] ?? 'unknown',
    cipher: socket.getCipher()?.standardName ?? '',
  };
}

const earliestOf = (certificates: readonly X509Certificate[]): number =>
  Math.min(...certificates.map(({ validTo }) => Date.parse(validTo) / 1000));

/** `chain` and `cipher`: the metrics that only some probers have. */
export function setTls(gauges: Gauges, facts: TlsFacts, more: { chain: boolean; cipher: boolean }): void {
  gauges.set('probe_ssl_earliest_cert_expiry', facts.earliest);
  gauges.set('probe_ssl_last_chain_info', 1, facts.info);
  gauges.set('probe_tls_version_info', 1, { version: facts.version });
  if (more.chain) gauges.set('probe_ssl_last_chain_expiry_timestamp_seconds', facts.chainExpiry);
  if (more.cipher) gauges.set('probe_tls_cipher_info', 1, { cipher: facts.cipher });
}

/** TLS over a connection, without ALPN. Rejects with the error, also when the certificate is not accepted. */
export async function secureConnection(
  socket: Socket,
  tls: TlsSettings,
  { host, signal }: { host: string; signal: AbortSignal },
): Promise<TLSSocket> {
  const name = tls.serverName === '' ? host : tls.serverName;
  const done = await handshake(socket, { host: name, context: tls.context(), http2: null, signal });
  if (!done.socket.authorized && !tls.insecure) {
    done.socket.destroy();
    throw new Error(
      `the certificate of ${name} is not accepted: ${authorizationCode(done.socket) ?? 'unknown'}`,
    );
  }
  return done.socket;
}

/** The order of the other program, whose texts begin with the last attribute. */
const order = ['C', 'O', 'OU', 'L', 'ST', 'street', 'postalCode', 'CN', 'serialNumber'];
const shortNames: { readonly [name: string]: string } = {
  street: 'STREET',
  postalCode: 'POSTALCODE',
  serialNumber: 'SERIALNUMBER',
};

/** `CN=a,O=b` (RFC 2253) from the lines of node:crypto. */
function nameText(lines: string | undefined): string {
  const values = new Map<string, string[]>();
  for (const line of (lines ?? '').split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) values.set(line.slice(0, at), [...(values.get(line.slice(0, at)) ?? []), line.slice(at + 1)]);
  }
  const rank = (name: string) => order.indexOf(name);
  return [...values]
    .toSorted(([a], [b]) => rank(b) - rank(a))
    .map(([name, all]) => all.map((value) => `${shortNames[name] ?? name}=${escaped(value)}`).join('+'))
    .join(',');
}

const escaped = (value: string) =>
  value
    .replaceAll(/[,+"\\<>;]/g, '\\$&')
    .replace(/^[# ]/, '\\$&')
    .replace(/ $/, '\\ ');

function dnsNames(text: string | undefined): string[] {
  return [...(text ?? '').matchAll(/(?:^|, )DNS:("(?:[^"\\]|\\.)*"|[^,]*)/g)].map(([, name = '']) => name);
}
