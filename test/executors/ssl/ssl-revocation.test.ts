import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { X509Certificate } from 'node:crypto';
import { readCertificate } from '../../../src/executors/ssl/certificate.ts';
import { readCrl } from '../../../src/executors/ssl/crl.ts';
import { readOcsp } from '../../../src/executors/ssl/ocsp.ts';
import { issue, revocationList, rsa, type Issued } from '../../helpers/network/authority.ts';
import { listening } from '../../helpers/network/http.ts';
import { ocspAnswerOf } from '../../helpers/network/ocsp-answer.ts';
import { hasOpenssl } from '../../helpers/network/openssl-certificates.ts';
import { show, startSslLab, verdictOf, type SslLab } from '../../helpers/network/ssl-lab.ts';

/** Revocation: answers are made by OpenSSL's own responder, lists by another library. */

let lab: SslLab;
beforeAll(async () => {
  lab = await startSslLab();
});
afterAll(() => lab.close());

const read = ({ pem }: Issued) => readCertificate(new X509Certificate(pem).raw, lab.now);
if (!hasOpenssl) process.stdout.write('skipped: answers of an OCSP responder (needs openssl)\n');

describe.skipIf(!hasOpenssl)('OCSP', () => {
  test('a stapled good answer', async () => {
    const leaf = await lab.leaf({ mustStaple: true });
    const answer = ocspAnswerOf(leaf, lab.middle, { state: 'V', days: 2 });
    const outcome = await lab.check(await lab.stapling(leaf, answer), {
      securityBaseline: { ocspMustStapleRespected: { severity: 'fail' } } as never,
    });
    expect(verdictOf(outcome)).toBe('passed');
    expect(outcome.details).toMatchObject({
      response: { ocspStapled: true, ocspStatus: 'good', revocation: { source: 'stapled' } },
    });
  });

  test('a stapled answer that the certificate was revoked', async () => {
    const leaf = await lab.leaf();
    const answer = ocspAnswerOf(leaf, lab.middle, { state: 'R', days: 2 });
    const outcome = await lab.check(await lab.stapling(leaf, answer));
    expect(verdictOf(outcome)).toBe('failed CERT_REVOKED null');
    expect(outcome.details).toMatchObject({
      response: { revocation: { answers: [{ revokedAt: '2026-01-01T00:00:00.000Z', problem: null }] } },
    });
  });

  test('answers that do not count', async () => {
    const leaf = await lab.leaf();
    const other = await lab.leaf({ name: 'other.test' });
    const stranger = await issue({ name: 'Middle', authority: true }, lab.now);
    const options = { leaf: read(leaf), issuer: read(lab.middle), now: lab.now };
    const good = ocspAnswerOf(leaf, lab.middle, { state: 'V', days: 2 });
    expect(readOcsp(good, options)).toMatchObject({ status: 'good', problem: null });
    expect(readOcsp(good, { ...options, now: lab.now + 3 * 86_400_000 }).problem).toMatch(/stale/);
    expect(readOcsp(good, { ...options, now: lab.now - 3 * 86_400_000 }).problem).toMatch(/future/);
    expect(readOcsp(good, { ...options, leaf: read(other) }).problem).toMatch(/another certificate/);
    expect(readOcsp(good, { ...options, issuer: read(stranger) }).problem).toMatch(/signature/);
    const damaged = Buffer.from(good);
    damaged[150] = (damaged[150] ?? 0) ^ 1;
    expect(readOcsp(damaged, options).problem).not.toBeNull();
    expect(readOcsp(ocspAnswerOf(leaf, lab.middle, { state: null, days: 2 }), options).status).toBe(
      'unknown',
    );
  });

  test('a responder with a certificate of its own counts, another certificate does not', async () => {
    const leaf = await lab.leaf();
    const options = { leaf: read(leaf), issuer: read(lab.middle), now: lab.now };
    const responder = await lab.leaf({ name: 'Responder', usages: ['1.3.6.1.5.5.7.3.9'], names: null });
    const intruder = await lab.leaf({ name: 'Intruder', names: null });
    const by = (signer: Issued) =>
      readOcsp(ocspAnswerOf(leaf, lab.middle, { state: 'V', days: 2, signer }), options);
    expect(by(responder)).toMatchObject({ status: 'good', problem: null });
    expect(by(intruder).problem).toMatch(/signature/);
  });

  test('asked for: OpenSSL understands the request, RSA and EC', async () => {
    for (const algorithm of [rsa(2048), undefined]) {
      const issuer = await issue(
        { name: 'Asked', authority: true, ...(algorithm && { algorithm }) },
        lab.now,
      );
      const leaf = await issue({ issuer }, lab.now);
      const answer = ocspAnswerOf(leaf, issuer, { state: 'V', days: 1 });
      const options = { leaf: read(leaf), issuer: read(issuer), now: lab.now };
      expect(readOcsp(answer, options)).toMatchObject({ status: 'good', problem: null });
    }
  });

  test('bytes of any kind are a problem and no crash', async () => {
    const leaf = await lab.leaf();
    const options = { leaf: read(leaf), issuer: read(lab.middle), now: lab.now };
    const good = ocspAnswerOf(leaf, lab.middle, { state: 'V', days: 2 });
    for (let at = 0; at < good.length; at++) {
      expect(readOcsp(good.subarray(0, at), options).problem).not.toBeNull();
      const changed = Buffer.from(good);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      readOcsp(changed, options);
    }
  });
});

describe('lists', () => {
  const day = 86_400_000;
  const listOf = (revoked: readonly string[], from = -1, to = 1) =>
    revocationList(lab.middle, {
      revoked,
      thisUpdate: new Date(lab.now + from * day),
      nextUpdate: new Date(lab.now + to * day),
    });

  test('say good, revoked, stale, and of whom they are', async () => {
    const leaf = await lab.leaf();
    const options = { leaf: read(leaf), issuer: read(lab.middle), now: lab.now };
    expect(readCrl(await listOf(['01', '02']), options)).toMatchObject({ status: 'good', problem: null });
    expect(readCrl(await listOf([]), options)).toMatchObject({ status: 'good', problem: null });
    expect(readCrl(await listOf(['01', leaf.serial]), options)).toMatchObject({
      status: 'revoked',
      problem: null,
    });
    expect(readCrl(await listOf([], -3, -1), options).problem).toMatch(/stale/);
    const stranger = await issue({ name: 'Middle', authority: true }, lab.now);
    expect(readCrl(await listOf([]), { ...options, issuer: read(stranger) }).problem).toMatch(/signature/);
    expect(readCrl(Buffer.from('nonsense'), options).problem).toMatch(/malformed/);
  });

  test('addresses in certificates that no authority has are refused', async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    const crl = `http://127.0.0.1:${lab.keep(await listening(server))}/list.crl`;
    const port = await lab.serve(show(await lab.leaf({ crl }), lab.middle));
    const outcome = await lab.check(port, { revocation: 'crl' });
    expect(verdictOf(outcome)).toBe('passed');
    expect(outcome.details).toMatchObject({
      response: {
        ocspStatus: null,
        revocation: {
          answers: [{ source: 'crl', problem: expect.stringContaining('not allowed') as string }],
        },
      },
    });
    expect(asked).toBe(0);
  });
});
