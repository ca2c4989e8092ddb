import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import * as tls from 'node:tls';
import { createHash, X509Certificate } from 'node:crypto';
import { certificateHostMatch } from '../../protocol/certificate-host.ts';
import type { ClientCertificate } from '../../protocol/job.ts';
import { HttpFailure } from './failures.ts';
import { toError } from '../../errors.ts';

/**
 * The certificate for a host: an exact name beats a pattern, and among equals the last (newest) wins. In a pattern
 * `*` matches any characters and `?` one; a pattern with `:port` also requires the port. Null = none matches.
 */
export function clientCertificateFor(
  certificates: readonly ClientCertificate[],
  target: { host: string; port: number },
): ClientCertificate | null {
  let best: ClientCertificate | null = null;
  let isBestExact = false;
  for (const certificate of certificates) {
    const match = certificateHostMatch(certificate.host, target);
    if (match === null || (isBestExact && match !== 'exact')) continue;
    best = certificate;
    isBestExact = match === 'exact';
  }
  return best;
}

const maxContexts = 32;
/** By digest of the certificate's parts, least recently used first. */
const contexts = new Map<string, SecureContext>();

/**
 * The TLS context for `certificate`. Its `ca`, if given, is trusted in addition to the default roots. Throws
 * HttpFailure CLIENT_CERTIFICATE_INVALID if the PEM, the key or the passphrase is invalid.
 */
export function clientSecureContext(certificate: ClientCertificate): SecureContext {
  const { cert, key, ca, passphrase } = certificate;
  const digest = createHash('sha256')
    .update(JSON.stringify([cert, key, ca, passphrase]))
    .digest('base64');
  const known = contexts.get(digest);
  if (known !== undefined) {
    contexts.delete(digest);
    contexts.set(digest, known);
    return known;
  }
  let context: SecureContext;
  try {
    // OpenSSL skips a CA that it cannot read.
    if (ca !== null) new X509Certificate(ca);
    context = createSecureContext({
      cert,
      key,
      ...(passphrase === null ? {} : { passphrase }),
      ...(ca === null ? {} : { ca: [...defaultRoots(), ca] }),
    });
  } catch (error: unknown) {
    const message = toError(error).message;
    throw new HttpFailure(
      'CLIENT_CERTIFICATE_INVALID',
      `the client certificate for ${certificate.host} cannot be used: ${message}; give PEM texts of the certificate, its key and, if the key is encrypted, its passphrase`,
    );
  }
  contexts.set(digest, context);
  const [oldest] = contexts.keys();
  if (contexts.size > maxContexts && oldest !== undefined) contexts.delete(oldest);
  return context;
}

/** The roots that a context without `ca` trusts. Before Node 22.15, those of NODE_EXTRA_CA_CERTS cannot be listed. */
export function defaultRoots(): readonly string[] {
  const list: unknown = Reflect.get(tls, 'getCACertificates');
  return typeof list === 'function' ? (list('default') as string[]) : rootCertificates; // the documented type
}

let roots: readonly X509Certificate[] | null = null;

/** The same roots, parsed when they are first needed, because that takes some milliseconds. */
export function parsedRoots(): readonly X509Certificate[] {
  roots ??= defaultRoots().map((pem) => new X509Certificate(pem));
  return roots;
}
