import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  captureFilter,
  maxFilterAddresses,
  type Endpoint,
} from '../../../src/executors/evidence/capture-filter.ts';
import { openCapture, type Capture } from '../../../src/executors/evidence/capture.ts';
import type { AttemptTraffic } from '../../../src/executors/evidence/packets.ts';
import { startDnsServer } from '../../helpers/network/dns-server.ts';
import { hasIpv6Loopback } from '../../helpers/machine.ts';
import { readPcap } from '../../helpers/network/pcap.ts';

/** Captures over loopback: what of real packets is kept, counted, cut away. */

const tried = await openCapture([]);
if ('take' in tried) tried.discard();
else process.stderr.write(`skipped here: packet captures: ${tried.unavailable}\n`);
const can = 'take' in tried;

const noTraffic: AttemptTraffic = { targets: [], nameServers: [], hostnames: [] };

async function capturing(endpoints: readonly Endpoint[]): Promise<Capture> {
  const capture = await openCapture(endpoints);
  if ('unavailable' in capture) throw new Error(capture.unavailable);
  return capture;
}

async function closedPort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server's
  server.close();
  await once(server, 'close');
  return port;
}

const refused = (host: string, port: number) =>
  new Promise<void>((resolve) => connect({ host, port }).on('error', () => resolve()));

test('the reason is reported where capturing is not possible', () => {
  if (can) return;
  expect(tried).toEqual({ unavailable: expect.stringMatching(/NET_RAW|addon|capture/) as string });
});

const native = join(import.meta.dirname, '..', '..', '..', 'build', 'native');
const canGrantByFile =
  can && process.getuid?.() === 0 && spawnSync('setcap', ['-h'], { stdio: 'ignore' }).error === undefined;

test.skipIf(!canGrantByFile)(
  'an ordinary user gets the socket from the helper, if its file has NET_RAW',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'location-agent-capture-'));
    chmodSync(folder, 0o755);
    for (const name of ['location_agent.node', 'raw-socket']) cpSync(join(native, name), join(folder, name));
    cpSync(join(folder, 'raw-socket'), join(folder, 'granted'));
    execFileSync('setcap', ['cap_net_raw+ep', join(folder, 'granted')]);
    const script = `
    const native = require('./location_agent.node');
    const filter = new Uint8Array(new Uint16Array([6, 0, 160, 0]).buffer);
    const open = async (helper) => {
      const capture = await native.openCapture(filter, helper);
      return typeof capture === 'number' ? capture : (await native.takeCapture(capture)).length >= 4;
    };
    (async () => {
      const found = [];
      for (const helper of ['', './raw-socket', './granted', './missing']) found.push(await open(helper));
      console.log(JSON.stringify(found));
    })();`;
    const asNobody = ['--reuid', '65534', '--regid', '65534', '--clear-groups'];
    const run = (...more: string[]) =>
      execFileSync('setpriv', [...asNobody, ...more, process.execPath, '-e', script], {
        cwd: folder,
        encoding: 'utf8',
        timeout: 30_000,
      });
    expect(JSON.parse(run())).toEqual([-1, -1, true, -2]);
    // As what scripts start, and as a container without the capability.
    expect(JSON.parse(run('--no-new-privs'))).toEqual([-1, -1, -1, -2]);
    expect(JSON.parse(run('--bounding-set=-net_raw'))).toEqual([-1, -1, -1, -2]);
    rmSync(folder, { recursive: true });
  },
);

test('a filter is as short as its jumps demand, however many addresses there are', async () => {
  const many = Array.from({ length: 100 }, (_, index) => [
    { address: `10.0.${index}.1`, port: 1000 + index },
    { address: `2001:db8::${index.toString(16)}`, port: 1000 + index },
  ]).flat();
  const program = captureFilter(many);
  // Two addresses and two ports of each packet are compared, in both families, and the one that an ICMP error is about.
  expect(program.length / 8).toBeLessThanOrEqual(60 + 10 * maxFilterAddresses);
  expect(captureFilter([]).length % 8).toBe(0);
  if (can) (await capturing(many)).discard();
});

const hosts = ['127.0.0.1', ...(hasIpv6Loopback ? ['::1'] : [])];
test.skipIf(!can).each(hosts)(
  'a refused connection to %s: its SYN and its reset, each once, and no others',
  async (host) => {
    const [port, other] = [await closedPort(host), await closedPort(host)];
    const target = { address: host, port };
    const capture = await capturing([]);
    await refused(host, port); // before it was wanted
    capture.watch([target]);
    await Promise.all([refused(host, port), refused(host, other)]);
    const taken = await capture.take({ ...noTraffic, targets: [target] });
    expect(taken?.summary).toMatchObject({ packets: 2, lost: 0, syn: 1, resets: 1, retransmissions: 0 });
    const { packets } = readPcap(taken?.pcap ?? Buffer.alloc(0));
    const header = host.includes(':') ? 40 : 20;
    expect(
      packets.map(({ bytes }) => [bytes.readUInt16BE(header), bytes.readUInt16BE(header + 2)].includes(port)),
    ).toEqual([true, true]);
    expect(Math.abs((packets[0]?.seconds ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    expect(await capture.take(noTraffic)).toBeNull();
    capture.discard();
  },
);

test.skipIf(!can)('keeps only headers, and nothing of a request or its response', async () => {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => socket.end('HTTP/1.1 200 OK\r\nx-token: very-secret\r\n\r\n'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server's
  const target = { address: '127.0.0.1', port };
  const capture = await capturing([target]);
  const asked = request({
    port,
    host: '127.0.0.1',
    path: '/very-secret',
    headers: { authorization: 'Bearer very-secret' },
  });
  asked.end();
  await once(asked, 'response');
  const taken = await capture.take({ ...noTraffic, targets: [target] });
  server.close();
  expect(taken?.summary).toMatchObject({ syn: 1, synAck: 1 });
  expect(taken?.summary.packets).toBeGreaterThan(4);
  expect(taken?.pcap.toString('latin1')).not.toMatch(/very-secret|HTTP|authorization/i);
  const { packets, snapLength } = readPcap(taken?.pcap ?? Buffer.alloc(0));
  for (const { bytes } of packets) expect(bytes.length).toBeLessThanOrEqual(Math.min(80, snapLength));
  // They were there.
  expect(packets.some(({ bytes, length }) => length > bytes.length + 50)).toBe(true);
});

test.skipIf(!can)('captures queries and answers for the attempt’s own names only', async () => {
  const server = await startDnsServer({ answer: (query) => query.reply([], { rcode: 3 }) });
  const nameServer = { address: server.address, port: server.port };
  const capture = await capturing([nameServer]);
  const ask = async (name: string) => {
    const socket = createSocket(server.address.includes(':') ? 'udp6' : 'udp4');
    const labels = name
      .split('.')
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
    const head = Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    socket.send(Buffer.concat([head, ...labels, Buffer.from([0, 0, 1, 0, 1])]), server.port, server.address);
    await once(socket, 'message');
    socket.close();
  };
  for (const name of ['Shop.example', 'other.example', 'shop.example.corp.internal', 'myshop.example'])
    await ask(name);
  const taken = await capture.take({ targets: [], nameServers: [nameServer], hostnames: ['shop.example'] });
  await server.close();
  expect(taken?.summary).toMatchObject({
    packets: 4,
    dnsQueries: 2,
    dnsAnswers: 2,
    summary: '4 packets: 2 DNS queries, 2 DNS answers',
  });
  const text = taken?.pcap.toString('latin1') ?? '';
  expect(text).toContain('Shop\u0007example');
  expect(text).not.toMatch(/other|myshop/);
});

test.skipIf(!can)('keeps only the headers of lookups of a name that contains a secret', async () => {
  const server = await startDnsServer({ answer: (query) => query.reply([], { rcode: 3 }) });
  const nameServer = { address: server.address, port: server.port };
  const capture = await capturing([nameServer]);
  const resolver = new Resolver({ timeout: 10_000, tries: 1 });
  const host = server.address.includes(':') ? `[${server.address}]` : server.address;
  resolver.setServers([`${host}:${server.port}`]);
  const name = 'very-secret.example';
  await expect(resolver.resolve4(name)).rejects.toThrow('ENOTFOUND');
  const traffic = { ...noTraffic, nameServers: [nameServer], hostnames: [name] };
  const taken = await capture.take({ ...traffic, hidesNames: true });
  await server.close();
  expect(taken?.summary).toMatchObject({ packets: 2, dnsQueries: 1, dnsAnswers: 1 });
  expect(taken?.pcap.toString('latin1')).not.toMatch(/very-secret|example/);
});

test.skipIf(!can)('packets without room are counted', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  const capture = await capturing([{ address: '127.0.0.1', port }]);
  for (let sent = 0; sent < 2500; sent++) {
    await new Promise((resolve) => socket.send(Buffer.alloc(600), port, '127.0.0.1', resolve));
  }
  const taken = await capture.take({ ...noTraffic, targets: [{ address: '127.0.0.1', port }] });
  socket.close();
  // Datagrams to a target are no look-ups: they are not the attempt's.
  expect(taken?.summary.packets).toBe(0);
  expect(taken?.summary.lost).toBeGreaterThan(400);
  expect(taken?.pcap.length).toBe(24);
});
