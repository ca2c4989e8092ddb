import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import { executeGrpc } from '../../../src/executors/grpc.ts';
import { createAuthority, type Authority, type Certificate } from '../../../src/targets/certificates.ts';
import { startGrpcTarget, shopProto, type GrpcTarget } from '../../../src/targets/grpc-target.ts';
import { closedPort } from '../../helpers/network/closed-port.ts';
import {
  buildGrpcServer,
  grpcJob,
  startGrpcServer,
  type GoServer,
} from '../../helpers/network/grpc-server.ts';
import { rawServer, testContext } from '../../helpers/network/http.ts';

/** GRPC checks against a server of another implementation, and against the sample target. */

const day = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'grpc-test-'));
const program = buildGrpcServer(folder);
if (program === null) process.stdout.write("skipped: Go's gRPC server (needs golang-google-grpc-dev)\n");

let authority: Authority;
let client: Certificate;
let go: GoServer;
let sample: GrpcTarget;
beforeAll(async () => {
  authority = await createAuthority({ commonName: 'gRPC test' });
  const dates = { notBefore: new Date(Date.now() - day), notAfter: new Date(Date.now() + day) };
  const own = await authority.issue({ commonName: 'localhost', names: ['127.0.0.1', 'grpc.test'], ...dates });
  client = await authority.issue({ commonName: 'client', ...dates });
  sample = await startGrpcTarget();
  if (program !== null) go = await startGrpcServer(program, { ...own, clients: authority.certificate.cert });
}, 300_000);
afterAll(async () => {
  await sample.close();
  if (program !== null) await go.close();
  rmSync(folder, { recursive: true, force: true });
});

type Request = Parameters<typeof grpcJob>[0];
const run = (request: Request, job: Parameters<typeof grpcJob>[1] = {}): Promise<Outcome> =>
  executeGrpc(grpcJob(request, job), testContext());
const codeOf = ({ base }: Outcome) => (base.ok ? 'passed' : base.reason.code);
const messageOf = ({ details }: Outcome): unknown =>
  JSON.parse((details['response'] as { responseMessage: string }).responseMessage || 'null');
const assertion = (source: string, comparison: string, target: string, property = '') => ({
  source,
  comparison,
  target,
  property,
  regex: null,
});

const status = 'google.bytestream.ByteStream/QueryWriteStatus';
const read = 'google.bytestream.ByteStream/Read';
const call = (resource_name: string, config = {}) => ({
  port: go.ports.plain,
  grpcConfig: { method: status, message: JSON.stringify({ resource_name }), ...config },
});

describe.skipIf(program === null)("Go's server", () => {
  test('a unary call by reflection (the server has only v1alpha)', async () => {
    const outcome = await run(call('shop'));
    expect(codeOf(outcome)).toBe('passed');
    expect(messageOf(outcome)).toEqual({ committedSize: '4', complete: true });
    expect(outcome.details).toMatchObject({
      grpcStatusCode: 0,
      healthStatus: null,
      requestError: null,
      response: {
        grpcMode: 'BEHAVIOR',
        resolvedIp: '127.0.0.1',
        grpcMethod: status,
        grpcStatusName: 'OK',
        discoveredMethods: expect.arrayContaining([status, 'grpc.health.v1.Health']) as string[],
      },
    });
    const { timings } = outcome;
    const parts = Object.entries(timings ?? {}).filter(([name]) => name !== 'total');
    expect(parts.reduce((sum, [, value]) => sum + value, 0)).toBeCloseTo(timings?.total ?? 0, 2);
  });

  test('compression of both directions, a slash before the method, and names in either spelling', async () => {
    const config = { compression: 'gzip', method: `/${status}`, message: '{"resourceName": "abc"}' };
    expect(messageOf(await run(call('', config)))).toEqual({ committedSize: '3', complete: true });
  });

  test('variables in the message, quoted for JSON', async () => {
    const message = '{"resource_name": "{{NAME}}"}';
    const variables = [{ key: 'NAME', value: 'a "b"', locked: false, secret: false }];
    const outcome = await run(call('', { message }), { environmentVariables: variables as never });
    expect(messageOf(outcome)).toMatchObject({ committedSize: '5' });
  });

  test.each([
    [5, 'NOT_FOUND'],
    [7, 'PERMISSION_DENIED'],
    [13, 'INTERNAL'],
    [14, 'UNAVAILABLE'],
    [16, 'UNAUTHENTICATED'],
  ])('status %i fails, with its name and message', async (code, name) => {
    const outcome = await run(call(`status/${code}/größer: 100%`));
    expect(codeOf(outcome)).toBe('GRPC_STATUS');
    expect(outcome.base).toMatchObject({
      reason: { message: `${name} (${code}): größer: 100%`, owner: 'target' },
    });
    expect(outcome.details).toMatchObject({ grpcStatusCode: code });
  });

  test('an assertion on the status decides instead', async () => {
    const assertions = [assertion('GRPC_STATUS_CODE', 'EQUALS', '5')];
    const outcome = await run({ ...call('status/5/gone'), assertions });
    expect(codeOf(outcome)).toBe('passed');
    expect(outcome.assertions).toMatchObject([{ actual: 5, error: null }]);
  });

  test('metadata, trailers and their binary forms', async () => {
    const metadata = [
      { key: 'X-Team', value: 'shop' },
      { key: 'x-raw-bin', value: 'AAECAw==' },
      { key: 'authorization', value: 'Bearer very-secret-token' },
    ];
    const assertions = [
      assertion('GRPC_METADATA', 'EQUALS', 'shop', 'x-team'),
      assertion('GRPC_METADATA', 'EQUALS', 'AAECAw', 'x-raw-bin'),
      assertion('GRPC_TRAILERS', 'CONTAINS', 'end', 'x-trailer'),
      assertion('GRPC_RESPONSE', 'EQUALS', 'true', '$.complete'),
      assertion('TEXT_BODY', 'CONTAINS', '"committedSize":"8"'),
      assertion('RESPONSE_TIME', 'LESS_THAN', '60000'),
    ];
    const outcome = await run({ ...call('metadata', { metadata }), assertions });
    expect(outcome.assertions.map(({ error }) => error)).toEqual(assertions.map(() => null));
    expect(outcome.details).toMatchObject({
      response: { trailers: expect.arrayContaining([{ key: 'x-trailer', value: 'at the end' }]) as unknown },
    });
    expect(JSON.stringify(outcome.details)).not.toContain('very-secret-token');
  });

  test('the deadline is given to the server, and holds here', async () => {
    const told = await run({ ...call('deadline'), timeout: 30 });
    const { committedSize } = messageOf(told) as { committedSize: string };
    expect(Number(committedSize)).toBeGreaterThan(20_000);
    expect(Number(committedSize)).toBeLessThanOrEqual(30_000);
    // The server answers with OK as soon as its own deadline is over.
    const late = await Promise.all(
      Array.from({ length: 10 }, () => run({ ...call('sleep/30000'), timeout: 1 })),
    );
    expect(late.map(codeOf)).toEqual(late.map(() => 'TIMEOUT'));
    expect(late[0]?.details).toMatchObject({ grpcStatusCode: 4 });
  });

  const stream = (request: object, config = {}) => ({
    port: go.ports.plain,
    grpcConfig: { method: read, message: JSON.stringify(request), ...config },
  });

  test('a stream of messages is a list', async () => {
    const outcome = await run(stream({ read_offset: 3, read_limit: 4 }));
    expect(codeOf(outcome)).toBe('passed');
    expect(messageOf(outcome)).toEqual(Array.from({ length: 4 }, () => ({ data: 'AAAA' })));
  });

  test('a stream that fails after its messages', async () => {
    const outcome = await run(stream({ resource_name: 'fails', read_offset: 1, read_limit: 2 }));
    expect(codeOf(outcome)).toBe('GRPC_STATUS');
    expect(messageOf(outcome)).toHaveLength(2);
  });

  test('an endless stream is cancelled after maxMessages', async () => {
    const outcome = await run(stream({ resource_name: 'endless', read_offset: 9 }, { maxMessages: 5 }));
    expect(codeOf(outcome)).toBe('passed');
    expect(outcome.details).toMatchObject({ response: { messages: 5, cancelled: true } });
  });

  test('a message above the limit, and messages above the limit of all', async () => {
    const large = await run(stream({ read_offset: 5_000_000, read_limit: 1 }));
    expect(codeOf(large)).toBe('HTTP_BODY_TOO_LARGE');
    const before = process.memoryUsage.rss();
    const endless = { resource_name: 'endless', read_offset: 4_000_000 };
    expect(codeOf(await run(stream(endless)))).toBe('HTTP_BODY_TOO_LARGE');
    expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(200);
  });

  test.each([
    ['', {}, 'passed', 1],
    ['shop', {}, 'passed', 1],
    ['closed', {}, 'GRPC_HEALTH', 2],
    ['closed', { watch: true }, 'GRPC_HEALTH', 2],
    ['shop', { watch: true }, 'passed', 1],
    ['nowhere', {}, 'GRPC_STATUS', null],
    ['nowhere', { watch: true }, 'GRPC_HEALTH', 3],
  ])('health of %j %j', async (service, config, code, health) => {
    const outcome = await run({ port: go.ports.plain, grpcConfig: { mode: 'HEALTH', service, ...config } });
    expect(codeOf(outcome)).toBe(code);
    expect(outcome.details).toMatchObject({ healthStatus: health });
  });

  test('an assertion on the health decides instead', async () => {
    const assertions = [assertion('GRPC_HEALTHCHECK_STATUS', 'EQUALS', '2')];
    const request = { port: go.ports.plain, grpcConfig: { mode: 'HEALTH', service: 'closed' }, assertions };
    const outcome = await run(request);
    expect([codeOf(outcome), outcome.assertions[0]?.error]).toEqual(['passed', null]);
  });

  test('TLS: trusted, not trusted, skipped, another name, and a client certificate', async () => {
    const config = { mode: 'HEALTH', tls: true };
    const tls = (port: number, more = {}, job = {}) =>
      run({ port, ...more, grpcConfig: { ...config, ...more } }, job);
    const untrusted = /^(UNABLE_TO_|SELF_SIGNED|CERT_UNTRUSTED)/;
    expect(codeOf(await tls(go.ports.tls))).toMatch(untrusted);
    expect(codeOf(await run({ port: go.ports.tls, skipSSL: true, grpcConfig: config }))).toBe('passed');
    const certificate = {
      host: 'elsewhere.test',
      cert: client.cert,
      key: client.key,
      ca: authority.certificate.cert,
      passphrase: null,
    };
    const job = { clientCertificates: [certificate] };
    const explicit = { ...config, clientCertificateMode: 'explicit' };
    expect(codeOf(await run({ port: go.ports.mutual, grpcConfig: explicit }, job))).toBe('passed');
    const wrong = { ...explicit, serverName: 'other.test' };
    expect(codeOf(await run({ port: go.ports.mutual, grpcConfig: wrong }, job))).toBe(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
    const none = await run({ port: go.ports.mutual, skipSSL: true, grpcConfig: config });
    expect(codeOf(none)).toMatch(/^(TLS_ERROR|CONNECTION_CLOSED|ECONNRESET|HTTP_PROTOCOL_ERROR)$/);
  });

  test.each([
    ['an unknown method', { method: 'google.bytestream.ByteStream/Nothing' }, /there is no method/],
    ['an unknown service', { method: 'no.Service/Get' }, /does not know no\.Service/],
    ['a stream of the client', { method: 'google.bytestream.ByteStream/Write' }, /takes a stream/],
    [
      'a field that is not there',
      { message: '{"nothing": 1}' },
      /nothing is no field of .*QueryWriteStatusRequest/,
    ],
    ['a field of another type', { message: '{"resource_name": 1}' }, /resource_name must be a text/],
    ['no JSON', { message: '{' }, /is not JSON/],
  ])('%s is a fault of the definition', async (_what, config, message) => {
    const outcome = await run(call('x', config));
    expect(codeOf(outcome)).toBe('GRPC_DEFINITION');
    expect(outcome.details['requestError']).toMatch(message);
    expect(outcome.assertions).toEqual([]);
  });
});

describe('the sample target', () => {
  const shop = (config = {}) => ({
    port: sample.port,
    grpcConfig: {
      method: 'sample.Shop/GetProduct',
      serviceDefinition: 'PROTO_FILE',
      protoContent: shopProto,
      message: '{"name": "desk"}',
      ...config,
    },
  });

  test('after a call, nothing waits for its time limit', async () => {
    const { signal } = new AbortController();
    const outcome = await executeGrpc(grpcJob(shop()), testContext({ signal }));
    expect([codeOf(outcome), getEventListeners(signal, 'abort')]).toEqual(['passed', []]);
  });

  test('types from a text', async () => {
    const outcome = await run(shop());
    expect(codeOf(outcome)).toBe('passed');
    expect(messageOf(outcome)).toEqual({ name: 'desk', price: 12 });
  });

  test('no reflection', async () => {
    const outcome = await run(shop({ serviceDefinition: 'REFLECTION', protoContent: '' }));
    expect(codeOf(outcome)).toBe('GRPC_DEFINITION');
    expect(outcome.details['requestError']).toMatch(
      /listing the services by reflection failed: .*no reflection/,
    );
  });

  test('an answer that does not fit the definition', async () => {
    const protoContent = shopProto.replace('int32 price = 2', 'string price = 2');
    const outcome = await run(shop({ protoContent }));
    expect(codeOf(outcome)).toBe('GRPC_DEFINITION');
    expect(outcome.details['requestError']).toMatch(/the field price is not what the definition declares/);
  });
});

describe('no gRPC', () => {
  const health = { mode: 'HEALTH' };

  test('a closed port, an unknown name', async () => {
    expect(codeOf(await run({ port: await closedPort(), grpcConfig: health }))).toBe('ECONNREFUSED');
    expect(codeOf(await run({ url: 'nowhere.invalid', port: 1, grpcConfig: health }))).toMatch(/^E/);
  });

  test.each([
    ['HTTP/1.1', 'HTTP/1.1 400 Bad Request\r\n\r\n', /HTTP_PROTOCOL_ERROR|CONNECTION_CLOSED|ECONNRESET/],
    ['an alert of TLS', '\x15\x03\x03\x00\x02\x02\x28', /HTTP_PROTOCOL_ERROR|CONNECTION_CLOSED|ECONNRESET/],
  ])('%s', async (_what, answer, code) => {
    const server = await rawServer((socket) => socket.end(Buffer.from(answer, 'latin1')));
    expect(codeOf(await run({ port: server.port, grpcConfig: health }))).toMatch(code);
    await server.close();
  });

  test('a server that says nothing', async () => {
    const server = await rawServer(() => undefined);
    const outcome = await run({ port: server.port, timeout: 1, grpcConfig: health });
    expect(codeOf(outcome)).toBe('TIMEOUT');
    expect(outcome.details).toMatchObject({ grpcStatusCode: 4 });
    await server.close();
  });

  test('a server that closes at once', async () => {
    const server = await rawServer((socket) => socket.destroy());
    expect(codeOf(await run({ port: server.port, grpcConfig: health }))).toMatch(
      /CONNECTION_CLOSED|ECONNRESET/,
    );
    await server.close();
  });
});
