import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import * as tls from 'node:tls';
import { createHash, X509Certificate } from 'node:crypto';
import type { ClientCertificate } from '../../protocol/job.ts';
import { HttpFailure } from './failures.ts';

/**
 * The certificate to offer to a host: an exact name beats a pattern, and of equals the last (newest) wins. A pattern's
 * `*` stands for any characters, `?` for one; a pattern with `:port` also asks for the port. Null = none matches.
 */
export function clientCertificateFor(
  certificates: readonly ClientCertificate[],
  target: { host: string; port: number },
): ClientCertificate | null {
  const host = target.host.toLowerCase();
  const authority = `${host}:${target.port}`;
  let best: ClientCertificate | null = null;
  let bestIsExact = false;
  for (const certificate of certificates) {
    const pattern = certificate.host.toLowerCase();
    const exact = pattern === host || pattern === authority;
    if (bestIsExact && !exact) continue;
    if (!exact && !matchesGlob(pattern, host) && !matchesGlob(pattern, authority)) continue;
    best = certificate;
    bestIsExact = exact;
  }
  return best;
}

/** `*` and `?` only. Linear in practice and at worst pattern × text, so that no pattern can hang the agent. */
function matchesGlob(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

const maxContexts = 32;
/** By digest of the certificate's parts, least recently used first. */
const contexts = new Map<string, SecureContext>();

/**
 * The TLS context that offers `certificate`. Its `ca`, when given, is trusted beside the default roots. Throws HttpFailure
 * CLIENT_CERTIFICATE_INVALID when the PEM, the key or the passphrase is no good.
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
    // OpenSSL passes over a CA that it can't read.
    if (ca !== null) new X509Certificate(ca);
    context = createSecureContext({
      cert,
      key,
      ...(passphrase === null ? {} : { passphrase }),
      ...(ca === null ? {} : { ca: [...defaultRoots(), ca] }),
    });
  } catch (error: unknown) {
    const message = error instanceof Error ? error.message : String(error);
    throw new HttpFailure(
      'CLIENT_CERTIFICATE_INVALID',
      `the client certificate for ${certificate.host} can't be used: ${message}; give PEM texts of the certificate, its key and, if the key is encrypted, its passphrase`,
    );
  }
  contexts.set(digest, context);
  const [oldest] = contexts.keys();
  if (contexts.size > maxContexts && oldest !== undefined) contexts.delete(oldest);
  return context;
}

/** The roots that a context without `ca` trusts. Before Node 22.15 those of NODE_EXTRA_CA_CERTS can't be listed. */
function defaultRoots(): readonly string[] {
  const list: unknown = Reflect.get(tls, 'getCACertificates');
  return typeof list === 'function' ? (list('default') as string[]) : rootCertificates; // its documented type
}
