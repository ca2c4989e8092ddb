import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Issued } from './authority.ts';

/** Certificates that no library makes any more: small keys, old digests, weak curves. OpenSSL still does. */

/** Whether this machine has the command. */
export const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
})();

/** A certificate for good.test that `issuer` signs. `key`: arguments of `openssl req`; `digest`: of `openssl x509`. */
export function opensslIssue(
  issuer: Pick<Issued, 'pem' | 'key'>,
  { key, digest = 'sha256' }: { key: readonly string[]; digest?: string },
): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'openssl-issue-'));
  const file = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  try {
    writeFileSync(file('ca.pem'), issuer.pem);
    writeFileSync(file('ca.key'), issuer.key);
    writeFileSync(file('ext'), 'subjectAltName=DNS:good.test\nextendedKeyUsage=serverAuth\n');
    const own = ['-nodes', '-keyout', file('own.key'), '-out', file('own.csr'), '-subj', '/CN=good.test'];
    openssl('req', '-new', '-newkey', ...key, ...own);
    const signer = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-set_serial', '4711', '-days', '90'];
    const out = ['-extfile', file('ext'), `-${digest}`, '-out', file('own.pem')];
    openssl('x509', '-req', '-in', file('own.csr'), ...signer, ...out);
    return {
      cert: readFileSync(file('own.pem'), 'latin1') + issuer.pem,
      key: readFileSync(file('own.key'), 'latin1'),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
