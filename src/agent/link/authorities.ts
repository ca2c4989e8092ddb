import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { exitCodes, FatalError, toError } from '../../errors.ts';

/** The PEM text of NODE_EXTRA_CA_CERTS. Throws FatalError (78) when it can't be read or holds no certificate. */
export function readAuthorities(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    const blocks = text.match(
      /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g,
    );
    if (blocks === null) throw new Error('it holds no certificate in PEM form');
    // One that this OpenSSL can't read is passed over, as Node does.
    if (!blocks.some(isCertificate)) throw new Error('no certificate in it is readable');
    return text;
  } catch (error) {
    const message = `NODE_EXTRA_CA_CERTS: cannot use ${file} (${toError(error).message})`;
    throw new FatalError('CONFIGURATION', message, { exitCode: exitCodes.configuration, cause: error });
  }
}

/** What TLS trusts with those of the file beside the usual ones. Throws as `readAuthorities`. */
export async function trusting(file: string) {
  const tls = await import('node:tls');
  // Replacing `ca` drops the built-in roots, so they are named again.
  return tls.createSecureContext({ ca: [...tls.rootCertificates, readAuthorities(file)] });
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
