import { createPrivateKey } from 'node:crypto';
import { createServer } from 'node:https';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { executeApi } from '../../../../src/executors/api.ts';
import { executeGrpc } from '../../../../src/executors/grpc.ts';
import type { ExecutionContext } from '../../../../src/executors/interface/executor.ts';
import { executeSsl } from '../../../../src/executors/ssl.ts';
import { createAuthority, type Certificate } from '../../../../src/targets/certificates.ts';
import {
  connectAgent,
  createAgentService,
  createClock,
  encryption,
} from '../../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../../helpers/service/database.ts';
import { apiJob, listening, startTestNetwork, testContext } from '../../../helpers/network/http.ts';
import { startTestService, type Fields, type TestService } from '../../../helpers/service/service.ts';

/** Client certificates: stored, shown without their keys, and offered by the API checks whose hosts they are for. */

const start = '2026-03-04T05:06:00.000Z';
const from = new Date('2020-01-01T00:00:00Z');
const until = new Date('2036-04-10T13:00:00Z');
const path = '/v1/client-certificates';
const authority = await createAuthority({ commonName: 'Test Authority' });
const issue = (commonName: string, names: string[] = []) =>
  authority.issue({ commonName, names, notBefore: from, notAfter: until });
const client = await issue('client');
const other = await issue('other');

/** Requests of the types that choose their certificate by a mode. */
const requests = {
  SSL: (port: number, mode: string | null, id: string | null) => ({
    sslConfig: { hostname: 'api.ssl.test', port, clientCertificateMode: mode },
    sslClientCertificateId: id,
  }),
  GRPC: (port: number, mode: string | null, id: string | null) => ({
    url: 'api.grpc.test',
    port,
    grpcConfig: { mode: 'HEALTH', clientCertificateMode: mode },
    grpcClientCertificateId: id,
  }),
};

/** The key as `openssl pkcs8` would encrypt it. */
const encrypted = ({ key }: Certificate) =>
  createPrivateKey(key)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' })
    .toString();

describe('client certificates', () => {
  const clock = createClock(start);
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService(await anyDatabase.open(), { now: clock.now, encryption });
  });
  afterAll(async () => {
    await service.close();
    await anyDatabase.close();
  });
  beforeEach(async () => {
    clock.set(start);
    await service.renewAccounts();
  });

  const post = (body: Fields) =>
    service.call<Fields & { id: string; attributes: Fields }>('POST', path, { body });

  test('created, read, listed, changed, sent back as read, deleted; keys are never shown and lie encrypted', async () => {
    const created = await post({ host: 'API.shop.example', ...client, ca: authority.certificate.cert });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: created.body.id,
      host: 'api.shop.example',
      cert: client.cert,
      ca: authority.certificate.cert,
      hasPassphrase: false,
      subject: 'CN=client',
      issuer: 'CN=Test Authority',
      fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      notBefore: from.toISOString(),
      expiresAt: until.toISOString(),
      created_at: start,
      updated_at: null,
    });
    const one = `${path}/${created.body.id}`;
    expect((await service.call('GET', one)).body).toEqual(created.body);
    expect((await service.call('GET', path)).body).toEqual([created.body]);
    const sentBack = await service.call('PUT', one, { body: created.body });
    expect([sentBack.status, sentBack.body]).toEqual([200, { ...created.body, updated_at: start }]);

    const changed = await service.call('PUT', one, {
      body: { host: '*', cert: other.cert, key: encrypted(other), passphrase: 'open sesame', ca: null },
    });
    expect(changed.body).toMatchObject({
      host: '*',
      subject: 'CN=other',
      ca: null,
      hasPassphrase: true,
    });
    const [row] = await service.db.query<{ text: string }>(
      'select c::text as text from client_certificates c where id = $1',
      [created.body.id],
    );
    expect(row?.text).not.toMatch(/PRIVATE KEY|sesame/);
    // The old passphrase does not belong to a new key.
    const again = await service.call('PUT', one, { body: { ...client } });
    expect([again.status, again.body['hasPassphrase']]).toEqual([200, false]);
    expect((await service.call('DELETE', one)).status).toBe(204);
    expect((await service.call('GET', one)).status).toBe(404);
    expect((await service.call('DELETE', one)).status).toBe(404);
  });

  const good = { host: 'a.example', ...client };
  const iterations = () => {
    // PBKDF2 with 2048 iterations (02 02 08 00) made one with 2^31 - 1, the lengths around it grown by two bytes.
    const text = encrypted(client);
    const bytes = Buffer.from(text.replace(/-----[^-]+-----|\s/g, ''), 'base64');
    const at = bytes.indexOf(Buffer.from([0x02, 0x02, 0x08, 0x00]));
    const more = Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from([0x02, 0x04, 0x7f, 0xff, 0xff, 0xff]),
      bytes.subarray(at + 4),
    ]);
    return `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${more.toString('base64')}\n-----END ENCRYPTED PRIVATE KEY-----\n`;
  };
  const refusals: [what: string, body: Fields, field: string, reason: RegExp][] = [
    ['no PEM', { ...good, cert: 'MIIK...' }, 'cert', /openssl pkcs12/],
    ['a key for a certificate', { ...good, cert: client.key }, 'cert', /must be a certificate/],
    [
      'a damaged certificate',
      { ...good, cert: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      'cert',
      /must be a certificate/,
    ],
    ["another certificate's key", { ...good, key: other.key }, 'key', /is not the key of the certificate/],
    ['no key', { ...good, key: client.cert }, 'key', /must be a private key/],
    [
      'a damaged key',
      { ...good, key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' },
      'key',
      /cannot be read/,
    ],
    ['no passphrase', { ...good, key: encrypted(client) }, 'passphrase', /is required/],
    [
      'a wrong passphrase',
      { ...good, key: encrypted(client), passphrase: 'x' },
      'passphrase',
      /does not open/,
    ],
    ['a key that takes hours', { ...good, key: iterations(), passphrase: 'x' }, 'key', /more than 1000000/],
    ['a bad authority', { ...good, ca: 'x' }, 'ca', /must be certificates/],
    ['a URL for a host', { ...good, host: 'https://a.example/' }, 'host', /the name of a host/],
  ];
  test.each(refusals)('refused: %s', async (_what, body, field, reason) => {
    const { status, body: answer } = await post(body);
    expect([status, Object.keys(answer.attributes)]).toEqual([400, [field]]);
    expect(String(answer.attributes[field])).toMatch(reason);
  });

  test('a check gets those that fit its host, an agent offers the right one, and a server sees it', async () => {
    await post({ host: '*.shop.test', ...other, ca: authority.certificate.cert });
    clock.advance(1);
    await post({
      host: 'api.shop.test',
      cert: client.cert,
      key: encrypted(client),
      passphrase: 'open sesame',
      ca: authority.certificate.cert,
    });
    clock.advance(1);
    await post({ host: 'elsewhere.test', ...other });
    const names = await startTestNetwork({
      'api.shop.test': ['127.0.0.1'],
      'www.shop.test': ['127.0.0.1'],
    });
    const server = await listening(
      createServer(
        {
          ...(await issue('api.shop.test', ['*.shop.test'])),
          ca: authority.certificate.cert,
          requestCert: true,
          rejectUnauthorized: true,
        },
        (request, response) => {
          const { subject } = (request.socket as TLSSocket).getPeerCertificate(); // an https server's socket
          response.end(String(subject.CN));
        },
      ),
    );
    try {
      const { app } = await createAgentService(service.db, clock);
      const location = await service.call<{ id: string }>('POST', '/v1/private-locations', {
        body: { name: 'Office', slugName: 'office' },
      });
      const key = await service.call<{ rawKey: string }>(
        'POST',
        `/v1/private-locations/${location.body.id}/keys`,
      );
      const agent = await connectAgent(app, { key: key.body.rawKey });
      const hosts = ['api.shop.test', 'www.shop.test', '{{HOST}}', 'nowhere.test'];
      for (const host of hosts) {
        const { status } = await service.call('POST', '/v1/checks/api', {
          body: {
            name: host,
            privateLocations: ['office'],
            frequency: 1,
            frequencyOffset: 1,
            request: { url: `https://${host}:${server.port}/` },
          },
        });
        expect(status).toBe(201);
      }
      const started = await service.call('POST', '/v2/check-sessions/trigger', { body: {} });
      expect(started.status).toBe(201);
      const jobs = await agent.claim(10);
      const offered = new Map(
        jobs.map((job) => [String(job['checkName']), job['clientCertificates'] as { host: string }[]]),
      );
      expect(hosts.map((host) => offered.get(host)?.map((certificate) => certificate.host))).toEqual([
        ['*.shop.test', 'api.shop.test'],
        ['*.shop.test'],
        ['*.shop.test', 'api.shop.test', 'elsewhere.test'],
        [],
      ]);
      for (const [host, seen] of [
        ['api.shop.test', 'client'],
        ['www.shop.test', 'other'],
      ] as const) {
        const job = apiJob(
          { url: `https://${host}:${server.port}/` },
          { clientCertificates: offered.get(host) as never }, // as the service made them
        );
        const { base, details } = await executeApi(job, testContext({ network: names.network }));
        expect([host, base]).toEqual([host, { ok: true }]);
        expect((details['response'] as Fields)['body']).toBe(seen); // of an API check that was answered
      }
      await app.close();
    } finally {
      await server.close();
      await names.close();
    }
  });

  test.each<[type: 'SSL' | 'GRPC', run: (job: never, context: ExecutionContext) => Promise<unknown>]>([
    ['SSL', executeSsl],
    ['GRPC', executeGrpc],
  ])(
    '%s checks: auto takes the one that fits the host, explicit the one that is named',
    async (type, execute) => {
      const kind = type.toLowerCase();
      const created = [];
      for (const [host, certificate] of [
        [`*.${kind}.test`, other],
        ['elsewhere.test', client],
      ] as const) {
        created.push(await post({ host, ...certificate, ca: authority.certificate.cert }));
      }
      const names = await startTestNetwork({ [`api.${kind}.test`]: ['127.0.0.1'] });
      const seen: string[] = [];
      const server = createTlsServer(
        {
          ...(await issue(`api.${kind}.test`, [`*.${kind}.test`])),
          ca: authority.certificate.cert,
          requestCert: true,
          rejectUnauthorized: false,
          maxVersion: 'TLSv1.2',
          ALPNProtocols: ['h2'],
        },
        (socket) => {
          seen.push(String(socket.getPeerCertificate().subject?.CN ?? 'none'));
          socket.on('error', () => undefined).end();
        },
      );
      const running = await listening(server);
      const { app } = await createAgentService(service.db, clock);
      try {
        const location = await service.call<{ id: string }>('POST', '/v1/private-locations', {
          body: { name: type, slugName: `${kind}-office` },
        });
        const key = await service.call<{ rawKey: string }>(
          'POST',
          `/v1/private-locations/${location.body.id}/keys`,
        );
        const agent = await connectAgent(app, { key: key.body.rawKey }, { checkTypes: [type] });
        const explicit = created[1]?.body.id ?? '';
        const wanted: readonly [mode: string | null, id: string | null, seen: string][] = [
          [null, null, 'none'],
          ['auto', null, 'other'],
          ['explicit', explicit, 'client'],
        ];
        for (const [mode, id, expected] of wanted) {
          const { status } = await service.call('POST', `/v1/checks/${kind}`, {
            body: {
              name: expected,
              privateLocations: [`${kind}-office`],
              request: requests[type](running.port, mode, id),
            },
          });
          expect(status).toBe(201);
        }
        await service.call('POST', '/v2/check-sessions/trigger', { body: {} });
        const jobs = await agent.claim(10);
        for (const [, , expected] of wanted) {
          const claimed = jobs.find((job) => job['checkName'] === expected);
          seen.length = 0;
          await execute(claimed as never, testContext({ network: names.network })); // as the service made it
          await expect.poll(() => seen).toEqual([expected]);
        }
      } finally {
        await app.close();
        await running.close();
        await names.close();
      }
    },
  );
});
