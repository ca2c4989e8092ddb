import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCertificate } from '../../../src/executors/ssl/certificate.ts';
import { ocspRequest } from '../../../src/executors/ssl/ocsp.ts';
import type { Issued } from './authority.ts';

type Answered = {
  /** Valid, revoked, or not in the responder's list. */
  state: 'V' | 'R' | null;
  /** Until the next update; absent = it names none. */
  days?: number;
  signer?: Issued;
  request?: Buffer;
};

/** What OpenSSL's responder answers about `leaf`, in DER. */
export function ocspAnswerOf(leaf: Issued, issuer: Issued, options: Answered): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'ocsp-'));
  const file = (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const read = ({ pem }: Issued) => readCertificate(new X509Certificate(pem).raw, Date.now());
  const serial = leaf.serial.padStart(leaf.serial.length + (leaf.serial.length % 2), '0').toUpperCase();
  const line =
    options.state === null
      ? ''
      : `${options.state}\t391231235959Z\t${options.state === 'R' ? '260101000000Z' : ''}\t${serial}\tunknown\t/CN=${leaf.name}\n`;
  const signer = options.signer ?? issuer;
  const out = join(folder, 'answer.der');
  try {
    const parts = [
      '-index',
      file('index.txt', line),
      '-CA',
      file('ca.pem', issuer.pem),
      '-rsigner',
      file('signer.pem', signer.pem),
      '-rkey',
      file('signer.key', signer.key),
      '-reqin',
      file('request.der', options.request ?? ocspRequest(read(leaf), read(issuer))),
      '-respout',
      out,
      ...(options.days === undefined ? [] : ['-ndays', String(options.days)]),
    ];
    execFileSync('openssl', ['ocsp', ...parts], { stdio: 'pipe' });
    return readFileSync(out);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
