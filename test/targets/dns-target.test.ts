import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import dnsPacket, { type DecodedPacket, type Packet } from 'dns-packet';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDnsTarget, type DnsTarget } from '../../src/targets/dns-target.ts';

let target: DnsTarget;
let resolver: Resolver;
beforeAll(async () => {
  target = await startDnsTarget({
    zone: { 'mine.test': { records: [{ type: 'A', ttl: 5, data: '10.1.2.3' }] } },
  });
  resolver = new Resolver({ timeout: 5000, tries: 1 });
  resolver.setServers([`127.0.0.1:${target.port}`]);
});
afterAll(() => target.close());

const question = (name: string, type: string): Packet => ({
  type: 'query',
  id: 4711,
  flags: dnsPacket.RECURSION_DESIRED,
  questions: [{ name, type: type as 'A' }],
});

async function overUdp(packet: Packet): Promise<Buffer> {
  const socket = createSocket('udp4');
  socket.send(dnsPacket.encode(packet), target.port, '127.0.0.1');
  const [message] = (await once(socket, 'message')) as [Buffer];
  socket.close();
  return message;
}

async function overTcp(packet: Packet): Promise<DecodedPacket> {
  const socket = connect(target.port, '127.0.0.1');
  socket.write(dnsPacket.streamEncode(packet));
  let received = Buffer.alloc(0);
  for await (const part of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, part]);
    if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) break;
  }
  return dnsPacket.decode(received.subarray(2));
}

const rcodeOf = (packet: DecodedPacket) => (packet as DecodedPacket & { rcode: string }).rcode;

test('the platform own resolver reads every sample record', async () => {
  expect(await resolver.resolve4('sample.test', { ttl: true })).toMatchObject([
    { address: '127.0.0.1', ttl: 60 },
  ]);
  expect(await resolver.resolve4('www.sample.test')).toEqual(['127.0.0.1']);
  expect(await resolver.resolve4('mine.test')).toEqual(['10.1.2.3']);
  expect(await resolver.resolve6('sample.test')).toEqual(['::1']);
  expect(await resolver.resolveCname('www.sample.test')).toEqual(['sample.test']);
  expect(await resolver.resolveMx('sample.test')).toMatchObject([
    { priority: 10, exchange: 'mail.sample.test' },
    { priority: 20, exchange: 'backup.sample.test' },
  ]);
  expect(await resolver.resolveTxt('sample.test')).toEqual([['v=spf1 -all']]);
  expect(await resolver.resolveNs('sample.test')).toEqual(['ns1.sample.test']);
  expect(await resolver.resolveCaa('sample.test')).toMatchObject([{ critical: 0, issue: 'ca.sample.test' }]);
  expect(await resolver.resolveSoa('sample.test')).toMatchObject({
    nsname: 'ns1.sample.test',
    serial: 2026010101,
  });
  // Too long for UDP: the resolver comes back over TCP.
  expect(await resolver.resolve4('many.sample.test')).toHaveLength(40);
});

test('an HTTPS record is in wire format', async () => {
  const answer = dnsPacket.decode(await overUdp(question('sample.test', 'UNKNOWN_65')));
  expect(answer.answers).toMatchObject([
    { type: 'UNKNOWN_65', data: Buffer.from('00010000010006026833026832000400047f000001', 'hex') },
  ]);
});

test.each([
  ['servfail.sample.test', 'SERVFAIL'],
  ['refused.sample.test', 'REFUSED'],
  ['nobody.sample.test', 'NXDOMAIN'],
  ['elsewhere.example', 'NXDOMAIN'],
  ['ns1.sample.test', 'NOERROR'],
])('%s is %s over both transports', async (name, rcode) => {
  const udp = dnsPacket.decode(await overUdp(question(name, 'TXT')));
  const tcp = await overTcp(question(name, 'TXT'));
  expect([rcodeOf(udp), rcodeOf(tcp), udp.answers?.length, udp.id]).toEqual([rcode, rcode, 0, 4711]);
});

test('truncation, AD, EDNS and garbage', async () => {
  const truncated = dnsPacket.decode(await overUdp(question('truncated.sample.test', 'A')));
  expect([truncated.flag_tc, truncated.answers?.length]).toEqual([true, 0]);
  expect((await overTcp(question('truncated.sample.test', 'A'))).answers).toHaveLength(1);

  expect(dnsPacket.decode(await overUdp(question('secure.sample.test', 'A'))).flag_ad).toBe(true);

  const withEdns = { ...question('many.sample.test', 'A') };
  withEdns.additionals = [
    {
      type: 'OPT',
      name: '.',
      udpPayloadSize: 4096,
      flags: 0,
      ednsVersion: 0,
      extendedRcode: 0,
      flag_do: false,
      options: [],
    },
  ] as unknown as NonNullable<Packet['additionals']>;
  const wide = dnsPacket.decode(await overUdp(withEdns));
  expect([wide.flag_tc, wide.answers?.length, wide.additionals?.[0]?.type]).toEqual([false, 40, 'OPT']);

  expect((await overUdp(question('garbage.sample.test', 'A'))).subarray(2).toString()).toBe('not a message');
});

test('slow names are slow, and nonsense is not answered', async () => {
  const started = performance.now();
  await overUdp(question('slow.sample.test', 'A'));
  expect(performance.now() - started).toBeGreaterThanOrEqual(690);

  const before = target.queries();
  const socket = createSocket('udp4');
  socket.send(Buffer.from('nonsense'), target.port, '127.0.0.1');
  await expect.poll(() => target.queries()).toBe(before + 1);
  socket.close();
  expect(rcodeOf(await overTcp(question('sample.test', 'A')))).toBe('NOERROR');
});
