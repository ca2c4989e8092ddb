import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { exitCodes, FatalError, toError } from '../../errors.ts';

/** The PEM text of NODE_EXTRA_CA_CERTS. Throws FatalError (78) if it cannot be read or contains no certificate. */
export function readAuthorities(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    const blocks = text.match(
      /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----/g,
    );
    if (blocks === null) throw new Error('it contains no PEM certificate');
    // Certificates that this OpenSSL cannot read are skipped, as Node does.
    if (!blocks.some(isCertificate)) throw new Error('none of its certificates can be read');
    return text;
  } catch (error) {
    const message = `NODE_EXTRA_CA_CERTS: cannot use ${file} (${toError(error).message})`;
    throw new FatalError('CONFIGURATION', message, { exitCode: exitCodes.configuration, cause: error });
  }
}

/** The default roots with those of the file. Throws as `readAuthorities`. */
export async function trusting(file: string) {
  const tls = await import('node:tls');
  // Setting `ca` replaces the built-in roots, so they are listed again.
  return tls.createSecureContext({ ca: [...tls.rootCertificates, readAuthorities(file)] });
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
