import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type AddressInfo } from 'node:net';
import { createServer, rootCertificates } from 'node:tls';
import { toError } from '../../errors.ts';
import { contextOf, shake, versionName } from '../../executors/ssl/handshake.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

/** Probes of TLS on this machine: which authorities targets may have, and which old versions can be measured. */

type Verdict = Omit<Finding, 'name'>;

/** `extraCaFile`: the file of NODE_EXTRA_CA_CERTS; null = none. */
export function tlsProbes(extraCaFile: string | null): Probe[] {
  return [
    { name: 'trusted authorities', run: () => authorities(extraCaFile) },
    { name: 'old TLS versions', run: oldVersions },
  ];
}

async function authorities(extraCaFile: string | null): Promise<Verdict> {
  const own = `${rootCertificates.length} of Node`;
  if (extraCaFile === null) return ok(`${own}; NODE_EXTRA_CA_CERTS names no others`);
  try {
    const blocks = (await readFile(extraCaFile, 'latin1')).match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    );
    const extra = (blocks ?? []).map((pem) => new X509Certificate(pem));
    const late = extra.filter(({ validTo }) => Date.parse(validTo) < Date.now());
    if (extra.length === 0) return problem(`${extraCaFile} has no certificate`, 'name a PEM file');
    const message = `${own}, ${extra.length} of NODE_EXTRA_CA_CERTS`;
    return late.length === 0
      ? ok(message)
      : note(`${message}, of which ${late.length} expired`, `remove the expired ones from ${extraCaFile}`);
  } catch (error: unknown) {
    return problem(
      `${extraCaFile} cannot be read: ${toError(error).message}`,
      'name a PEM file in NODE_EXTRA_CA_CERTS',
    );
  }
}

const old = ['TLSv1', 'TLSv1.1'] as const;

/** Real handshakes on loopback, anonymous ones, because they need no certificate. */
async function oldVersions(signal: AbortSignal): Promise<Verdict> {
  const states = await Promise.all(
    old.map(async (version) => {
      const settings = { minVersion: version, maxVersion: version, ciphers: 'AECDH-AES128-SHA:@SECLEVEL=0' };
      const server = createServer(settings, (socket) => socket.on('error', () => undefined).end());
      server.on('tlsClientError', () => undefined);
      try {
        server.listen(0, '127.0.0.1');
        await once(server, 'listening', { signal });
        const socket = connect((server.address() as AddressInfo).port, '127.0.0.1'); // of a listening TCP server
        socket.on('error', () => undefined);
        await once(socket, 'connect', { signal });
        await shake(socket, { serverName: '', context: contextOf(null), signal });
        return null;
      } catch {
        return versionName(version);
      } finally {
        server.close();
      }
    }),
  );
  const missing = states.filter((name) => name !== null);
  return missing.length === 0
    ? ok(`SSL checks measure TLS1.0 to TLS1.3 (OpenSSL ${process.versions.openssl})`)
    : note(
        `SSL checks cannot measure ${missing.join(' and ')} (OpenSSL ${process.versions.openssl})`,
        'servers with only these versions fail with TLS_ERROR; use a Node.js whose OpenSSL has them',
      );
}
