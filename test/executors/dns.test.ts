import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { InvalidJobError, JobAborted } from '../../src/errors.ts';
import { dnsProtocols } from '../../src/protocol/requests.ts';
import { flagBits, type ReceivedQuery } from '../helpers/network/dns-server.ts';
import {
  a,
  assertion,
  certificate,
  codeOf,
  deadlineIn,
  dnsAttempts,
  portOf,
  sumOfParts,
} from './dns/dns-attempt.ts';

/** DNS checks: all protocols, UDP, and the name that is asked for. */

const { networkWith, run, serve } = dnsAttempts();

describe.each(dnsProtocols)('by %s', (protocol) => {
  const phases = {
    UDP: ['firstByte'],
    TCP: ['connect', 'download', 'firstByte'],
    DOT: ['connect', 'download', 'firstByte', 'tls'],
    DOH: ['connect', 'download', 'firstByte', 'tls'],
  }[protocol];

  test('passes, with the answer as JSON and as text', async () => {
    const server = await serve(
      (query) => query.reply([a('192.0.2.1'), a('192.0.2.2')], { flags: flagBits.ad }),
      { certificate },
    );
    const port = portOf(server, protocol);
    const outcome = await run({ protocol, nameServer: 'ns.test', port });
    expect(outcome).toEqual({
      base: { ok: true },
      responseTime: expect.any(Number),
      timings: expect.any(Object),
      assertions: [],
      details: {
        request: { query: 'www.example.com', recordType: 'A', protocol, nameServer: 'ns.test', port },
        nameServerInfo: { name: 'ns.test', host: '127.0.0.1', port },
        response: {
          returnCode: 'NOERROR',
          answer: {
            Answer: [
              { name: 'www.example.com.', type: 'A', TTL: 300, data: '192.0.2.1' },
              { name: 'www.example.com.', type: 'A', TTL: 300, data: '192.0.2.2' },
            ],
            Question: [{ name: 'www.example.com.', type: 'A' }],
            Status: 'NOERROR',
            TC: false,
            RD: true,
            RA: true,
            AD: true,
            CD: false,
          },
          text: expect.stringMatching(
            /^;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: \d+\n;; flags: qr rd ra ad; QUERY: 1, ANSWER: 2, AUTHORITY: 0, ADDITIONAL: 0\n\n;; QUESTION SECTION:\n;www\.example\.com\.\tIN\tA\n\n;; ANSWER SECTION:\nwww\.example\.com\.\t300\tIN\tA\t192\.0\.2\.1\nwww\.example\.com\.\t300\tIN\tA\t192\.0\.2\.2$/,
          ),
          responseTime: outcome.responseTime,
          truncated: false,
        },
        tries: 1,
        servers: [{ address: '127.0.0.1', port, ms: expect.any(Number) }],
        truncatedRetry: false,
        ednsRetry: false,
        ignoredAnswers: 0,
        tls:
          protocol === 'DOT' || protocol === 'DOH'
            ? {
                protocol: 'TLSv1.3',
                cipher: expect.any(String),
                authorized: false,
                error: expect.any(String),
              }
            : null,
        httpVersion: protocol === 'DOH' ? '2' : null,
      },
    });
    expect(Object.keys(outcome.timings ?? {}).sort()).toEqual(
      ['dns', ...phases, 'remainder', 'total'].sort(),
    );
    expect(sumOfParts(outcome.timings)).toBeCloseTo(outcome.timings?.total ?? Number.NaN, 2);
    const { packet, http } = server.queries[0] as ReceivedQuery; // one came
    expect(packet).toMatchObject({
      flag_rd: true,
      flag_ad: true,
      additionals: [{ type: 'OPT', udpPayloadSize: 1232, flag_do: true }],
    });
    expect(http).toEqual(
      protocol === 'DOH'
        ? { version: '2.0', method: 'POST', path: '/dns-query', contentType: 'application/dns-message' }
        : undefined,
    );
  });

  test('an assertion fails', async () => {
    const server = await serve((query) => query.reply([a('192.0.2.1')]), { certificate });
    const assertions = [
      assertion('JSON_ANSWER', 'EQUALS', '192.0.2.9', '$.Answer[0].data'),
      assertion('RESPONSE_CODE', 'EQUALS', 'NOERROR'),
      assertion('TEXT_ANSWER', 'EQUALS', '192.0.2.1', String.raw`IN\tA\t(\S+)`),
      assertion('RESPONSE_TIME', 'LESS_THAN', '10000'),
    ];
    const outcome = await run({ protocol, port: portOf(server, protocol), assertions });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.assertions).toEqual([
      { ...assertions[0], actual: '192.0.2.1', error: expect.any(String) },
      { ...assertions[1], actual: 'NOERROR', error: null },
      { ...assertions[2], actual: '192.0.2.1', error: null },
      { ...assertions[3], actual: outcome.responseTime, error: null },
    ]);
  });

  test('refused', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo; // listening on TCP
    free.close();
    await once(free, 'close');
    const outcome = await run({ protocol, port });
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ECONNREFUSED', owner: 'target' } });
    expect(outcome.assertions).toEqual([]);
    expect(outcome.details).toMatchObject({
      response: null,
      servers: [{ address: '127.0.0.1', port, ms: expect.any(Number), error: 'ECONNREFUSED' }],
    });
  });

  test('unknown host', async () => {
    const names = await serve((query) => query.reply([], { rcode: 3 }));
    const network = networkWith(`[127.0.0.1]:${names.port}`);
    const outcome = await run({ protocol, nameServer: 'ns.example.' }, { network });
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ENOTFOUND', owner: 'target' } });
    expect(Object.keys(outcome.timings ?? {})).toEqual(['total', 'dns', 'remainder']);
    expect(outcome.details).toMatchObject({ servers: [], tries: 0 });
  });

  test('a deadline with a silent server', async () => {
    const server = await serve(() => null, { certificate });
    const port = portOf(server, protocol);
    const outcome = await run({ protocol, port }, { signal: deadlineIn(500) });
    expect(outcome.base).toEqual({
      ok: false,
      reason: { code: 'TIMEOUT', owner: 'target', message: `no answer from 127.0.0.1 port ${port} in time` },
    });
    expect(Object.keys(outcome.timings ?? {}).sort()).toEqual(
      [...phases.filter((phase) => phase !== 'download'), 'remainder', 'total'].sort(),
    );
    expect(outcome.timings?.firstByte).toBeGreaterThan(0);
    expect(sumOfParts(outcome.timings)).toBeCloseTo(outcome.timings?.total ?? Number.NaN, 2);
    expect(outcome.details).toMatchObject({ servers: [{ error: 'TIMEOUT' }], tries: 1 });
  });

  test('cancelled', async () => {
    const server = await serve(() => null, { certificate });
    const controller = new AbortController();
    const reason = new JobAborted('cancelled');
    setTimeout(() => controller.abort(reason), 50);
    await expect(
      run({ protocol, port: portOf(server, protocol) }, { signal: controller.signal }),
    ).rejects.toBe(reason);
  });

  test('another rcode fails, unless an assertion judges it', async () => {
    const server = await serve((query) => query.reply([], { rcode: 3 }), { certificate });
    const port = portOf(server, protocol);
    const outcome = await run({ protocol, port });
    expect(outcome.base).toEqual({
      ok: false,
      reason: { code: 'DNS_RCODE', owner: 'target', message: 'the name server answered NXDOMAIN' },
    });
    expect(outcome.details['response']).toMatchObject({
      returnCode: 'NXDOMAIN',
      answer: { Answer: [], Status: 'NXDOMAIN' },
    });
    const judged = await run({
      protocol,
      port,
      assertions: [assertion('RESPONSE_CODE', 'EQUALS', 'NXDOMAIN')],
    });
    expect(judged.base).toEqual({ ok: true });
    expect(judged.assertions).toMatchObject([{ actual: 'NXDOMAIN', error: null }]);
  });

  test('an answer with a bad pointer is malformed', async () => {
    const server = await serve(
      (query) => {
        const message = query.reply([a('192.0.2.1')]);
        const answerAt = message.indexOf(Buffer.from('\x03www\x07example\x03com\0', 'latin1'), 20);
        message.writeUInt16BE(0xc000 + answerAt, answerAt); // points to itself
        return message;
      },
      { certificate },
    );
    const outcome = await run({ protocol, port: portOf(server, protocol) });
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'DNS_MALFORMED', owner: 'target' } });
  });

  test('data that do not fit their type are malformed', async () => {
    const server = await serve(
      (query) => {
        const message = query.reply([a('192.0.2.1')]);
        message.writeUInt16BE(3, message.length - 6);
        return message.subarray(0, -1);
      },
      { certificate },
    );
    expect(codeOf(await run({ protocol, port: portOf(server, protocol) }))).toBe('DNS_MALFORMED');
  });
});

describe('UDP', () => {
  test('is sent again while there is no answer', async () => {
    let count = 0;
    const server = await serve((query) => ((count += 1) < 2 ? null : query.reply([a('192.0.2.1')])));
    const outcome = await run({ port: server.port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({ tries: 2, servers: [{ ms: expect.any(Number) }] });
    expect(outcome.responseTime).toBeGreaterThan(900);
  });

  test('a truncated answer is requested again over TCP', async () => {
    const many = Array.from({ length: 200 }, (_, i) => a(`192.0.2.${i}`));
    const server = await serve((query) =>
      query.transport === 'udp' ? query.reply([], { flags: flagBits.tc }) : query.reply(many),
    );
    const outcome = await run({ port: server.port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({
      truncatedRetry: true,
      tries: 2,
      response: { answer: { TC: false } },
    });
    expect(Object.keys(outcome.timings ?? {}).sort()).toEqual([
      'connect',
      'download',
      'firstByte',
      'remainder',
      'total',
    ]);
    expect(server.queries.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  test('datagrams that do not belong to the query are ignored', async () => {
    const server = await serve((query) => {
      const good = query.reply([a('192.0.2.1')]);
      const otherId = Buffer.from(good);
      otherId.writeUInt16BE(otherId.readUInt16BE(0) ^ 1);
      const query_ = Buffer.from(good);
      query_.writeUInt8(query_.readUInt8(2) & 0x7f, 2);
      const otherName = Buffer.from(good);
      otherName.write('x', 13);
      return [Buffer.from('short'), otherId, query_, otherName, Buffer.alloc(0), good];
    });
    const outcome = await run({ port: server.port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({ ignoredAnswers: 5, tries: 1 });
  });

  test('only such datagrams until the deadline', async () => {
    const server = await serve((query) => {
      const message = query.reply([a('192.0.2.1')]);
      message.writeUInt16BE(message.readUInt16BE(0) ^ 1);
      return message;
    });
    const outcome = await run({ port: server.port }, { signal: deadlineIn(300) });
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'TIMEOUT',
        owner: 'target',
        message: `no answer from 127.0.0.1 port ${server.port} in time; 1 answers did not belong to the query (the last was for another query id)`,
      },
    });
  });

  test('a server that does not know EDNS is asked without', async () => {
    const server = await serve((query) =>
      query.packet.additionals?.length === 0 ? query.reply([a('192.0.2.1')]) : query.reply([], { rcode: 1 }),
    );
    const outcome = await run({ port: server.port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({ ednsRetry: true, tries: 2 });
  });

  test("the system's name servers in order, with failover", async () => {
    const server = await serve((query) => query.reply([a('192.0.2.1')]));
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo; // nothing on the same port by UDP
    const network = networkWith(`[127.0.0.1]:${port}`, `[127.0.0.1]:${server.port}`);
    const outcome = await run({ nameServer: null }, { network });
    free.close();
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({
      nameServerInfo: { name: '127.0.0.1', host: '127.0.0.1', port: server.port },
      servers: [
        { address: '127.0.0.1', port, error: 'ECONNREFUSED' },
        { address: '127.0.0.1', port: server.port, ms: expect.any(Number) },
      ],
    });
  });

  test('a silent server of several is given up after its share', { timeout: 15_000 }, async () => {
    const silent = await serve(() => null);
    const server = await serve((query) => query.reply([a('192.0.2.1')]));
    const network = networkWith(`[127.0.0.1]:${silent.port}`, `[127.0.0.1]:${server.port}`);
    const outcome = await run({ nameServer: '' }, { network });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.timings?.total).toBeGreaterThan(4900);
    // The time at the silent server is not part of the response time.
    expect((outcome.timings?.total ?? 0) - (outcome.responseTime ?? 0)).toBeGreaterThan(4000);
    expect(outcome.details).toMatchObject({ tries: 4, servers: [{ error: 'TIMEOUT' }, {}] });
    expect(sumOfParts(outcome.timings)).toBeCloseTo(outcome.timings?.total ?? Number.NaN, 2);
  });

  test('every address of a name server is tried', async () => {
    const server = await serve((query) => query.reply([a('192.0.2.1')]));
    const outcome = await run({ nameServer: 'first.test', port: server.port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({
      nameServerInfo: { name: 'first.test', host: '127.0.0.1' },
      servers: [{ address: '127.0.0.2', error: 'ECONNREFUSED' }, { address: '127.0.0.1' }],
    });
  });
});

describe('the query name', () => {
  test.each([
    ['bücher.example.', 'A', 'xn--bcher-kva.example'],
    ['192.0.2.10', 'PTR', '10.2.0.192.in-addr.arpa'],
    [
      '[2001:db8::567:89ab]',
      'PTR',
      'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    ],
    ['_sip._tcp.example.com', 'SRV', '_sip._tcp.example.com'],
    ['.', 'NS', '.'],
  ] as const)('%s %s', async (query, recordType, expected) => {
    const server = await serve((received) => received.reply());
    const outcome = await run({ port: server.port, query, recordType });
    expect(outcome.base).toEqual({ ok: true });
    expect(server.queries[0]?.name).toBe(expected);
  });

  test.each(['a..b', '.a', 'a b', 'x'.repeat(64), 'a\\.b', 'ü..b'])('%s is no name', async (query) => {
    await expect(run({ query })).rejects.toThrow(InvalidJobError);
  });
});
