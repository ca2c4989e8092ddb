import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revocationList, type Issued } from '../../helpers/network/authority.ts';
import { listening } from '../../helpers/network/http.ts';
import { hasOpenssl } from '../../helpers/network/openssl-certificates.ts';
import { ocspAnswerOf } from '../../helpers/network/ocsp-answer.ts';
import { show, startSslLab, verdictOf, type SslLab } from '../../helpers/network/ssl-lab.ts';

/**
 * Revocation by request: a real responder and a real list, on an address of this machine that is not loopback, because
 * loopback is refused.
 */

const own = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
if (own === undefined)
  process.stdout.write('skipped: revocation by request (no other address than loopback)\n');

let lab: SslLab;
beforeAll(async () => {
  lab = await startSslLab();
});
afterAll(() => lab.close());

type Handler = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void;

/** An authority's server; the path of each request is kept. */
async function authority(handler: Handler): Promise<{ url: string; paths: string[] }> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url} ${request.headers['content-type'] ?? ''}`.trim());
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => handler(request, Buffer.concat(parts), response));
  });
  const port = lab.keep(await listening(server, own));
  return { url: `http://${own}:${port}`, paths };
}

const day = 86_400_000;
const listOf = (revoked: readonly string[]) =>
  revocationList(lab.middle, {
    revoked,
    thisUpdate: new Date(lab.now - day),
    nextUpdate: new Date(lab.now + day),
  });
const serve = async (leaf: Issued) => lab.serve(show(leaf, lab.middle));

describe.skipIf(own === undefined)('lists by request', () => {
  const fetchedList = async (
    answer: (revoked: readonly string[]) => Handler,
    mode: 'ocsp' | 'crl' = 'crl',
  ) => {
    let handler: Handler = () => undefined;
    const { url, paths } = await authority((...all) => handler(...all));
    const leaf = await lab.leaf({ crl: `${url}/list.crl` });
    handler = answer([leaf.serial]);
    const began = performance.now();
    const outcome = await lab.check(await serve(leaf), { revocation: mode });
    const { revocation } = outcome.details['response'] as {
      revocation: { status: string | null; answers: { source: string; problem: string | null }[] };
    };
    return { outcome, revocation, paths, tookMs: performance.now() - began };
  };

  test.each(['crl', 'ocsp'] as const)('revoked, in mode %s', async (mode) => {
    const { outcome, paths } = await fetchedList(
      (revoked) => (_request, _body, response) => {
        void listOf(revoked).then((list) => response.end(list));
      },
      mode,
    );
    expect(verdictOf(outcome)).toBe('failed CERT_REVOKED null');
    expect(paths).toEqual(['GET /list.crl']);
  });

  test('good', async () => {
    const { outcome, revocation } = await fetchedList(() => (_request, _body, response) => {
      void listOf(['01']).then((list) => response.end(list));
    });
    expect(verdictOf(outcome)).toBe('passed');
    expect(revocation).toMatchObject({ status: 'good', source: 'crl' });
  });

  test('404', async () => {
    const { outcome, revocation } = await fetchedList(
      () => (_request, _body, response) => response.writeHead(404).end(),
    );
    expect(verdictOf(outcome)).toBe('passed');
    expect(revocation.answers).toMatchObject([{ problem: 'the answer was status 404' }]);
  });

  test('a redirect is not followed', async () => {
    const { revocation } = await fetchedList(
      () => (_request, _body, response) => response.writeHead(302, { location: 'http://127.0.0.1/' }).end(),
    );
    expect(revocation.answers).toMatchObject([{ problem: 'the answer was status 302' }]);
  });

  test('too large: 20 MiB are read and no more', async () => {
    let sent = 0;
    const { outcome, revocation } = await fetchedList(() => (_request, _body, response) => {
      const chunk = Buffer.alloc(1024 * 1024, 0x30);
      const more = () => {
        while (sent < 200 * chunk.length && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      response.on('error', () => undefined);
      more();
    });
    expect(verdictOf(outcome)).toBe('passed');
    expect(revocation.answers[0]?.problem).toMatch(/larger than 20971520 bytes/);
    expect(sent).toBeLessThan(60 * 1024 * 1024);
  });

  test('a server that never answers costs five seconds and is no fault of the target', async () => {
    const { outcome, revocation, tookMs } = await fetchedList(() => () => undefined);
    expect(verdictOf(outcome)).toBe('passed');
    expect(revocation.answers[0]?.problem).toMatch(/no complete answer within 5000 ms/);
    expect(tookMs).toBeGreaterThan(4900);
    expect(tookMs).toBeLessThan(15_000);
  });
});

describe.skipIf(own === undefined || !hasOpenssl)('OCSP by request', () => {
  const asked = async (state: 'V' | 'R' | 'late' | 'large' | 'stale') => {
    let leaf: Issued | null = null;
    const { url, paths } = await authority((_request, body, response) => {
      if (state === 'late' || leaf === null) return;
      if (state === 'large') response.end(Buffer.alloc(100_000, 0x30));
      else
        response
          .writeHead(200, { 'content-type': 'application/ocsp-response' })
          .end(ocspAnswerOf(leaf, lab.middle, { state: state === 'R' ? 'R' : 'V', days: 1, request: body }));
    });
    leaf = await lab.leaf({ ocsp: `${url}/ocsp` });
    const outcome = await lab.check(await serve(leaf), { revocation: 'ocsp' });
    const { revocation } = outcome.details['response'] as {
      revocation: { status: string | null; source: string; answers: { problem: string | null }[] };
    };
    return { outcome, revocation, paths };
  };

  test('good and revoked, with the request that the responder of OpenSSL reads', async () => {
    const good = await asked('V');
    expect(verdictOf(good.outcome)).toBe('passed');
    expect(good.revocation).toMatchObject({ status: 'good', source: 'ocsp' });
    expect(good.paths).toEqual(['POST /ocsp application/ocsp-request']);
    expect(verdictOf((await asked('R')).outcome)).toBe('failed CERT_REVOKED null');
  });

  test('too large, or too late: the problem is named and the check passes', async () => {
    const large = await asked('large');
    expect(large.revocation.answers[0]?.problem).toMatch(/larger than 65536 bytes/);
    expect(verdictOf(large.outcome)).toBe('passed');
    const late = await asked('late');
    expect(late.revocation.answers[0]?.problem).toMatch(/no complete answer/);
    expect(verdictOf(late.outcome)).toBe('passed');
  });

  test('a stale staple at the server: it does not count, and the responder is asked', async () => {
    let leaf: Issued | null = null;
    const { url, paths } = await authority((_request, body, response) => {
      if (leaf !== null) response.end(ocspAnswerOf(leaf, lab.middle, { state: 'R', days: 4, request: body }));
    });
    leaf = await lab.leaf({ ocsp: `${url}/ocsp` });
    const stale = ocspAnswerOf(leaf, lab.middle, { state: 'V', days: 1 });
    const port = await lab.stapling(leaf, stale);
    const later = { now: lab.now + 2 * day };
    const stapledOnly = await lab.check(port, {}, later);
    expect(verdictOf(stapledOnly)).toBe('passed');
    expect(stapledOnly.details).toMatchObject({
      response: {
        ocspStapled: true,
        ocspStatus: null,
        revocation: { answers: [{ problem: expect.stringMatching(/stale/) as string }] },
      },
    });
    expect(paths).toEqual([]);
    expect(verdictOf(await lab.check(port, { revocation: 'ocsp' }, later))).toBe('failed CERT_REVOKED null');
    expect(paths).toHaveLength(1);
  });
});
