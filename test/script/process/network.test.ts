import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { chmodSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptNetwork } from '../../../src/script/process/script-network.ts';
import { bothMeans, byDefault, networkHost, users, type NetworkHost } from './network-run.ts';

/** Every way to an address that customer code may not reach, tried by a real child of a real process. */

const errnos = {
  ok: 0,
  perm: 1,
  absent: 2,
  acces: 13,
  nosys: 38,
  protocol: 93,
  notSupported: 95,
  family: 97,
  refused: 111,
};

let host: NetworkHost;
let folder = '';
const run: NetworkHost['run'] = (...args) => host.run(...args);
let foreign: Server;
let foreignUnix: Server;
let foreignAbstract: Server;
let foreignUdp: UdpSocket;
let port = 0;
let udpPort = 0;
const seen: string[] = [];

const listening = (server: Server, at: { port: number; host?: string } | { path: string }): Promise<void> =>
  new Promise((resolve) => server.listen(at, resolve));

beforeAll(async () => {
  host = await networkHost();
  ({ folder } = host);
  const record = (what: string) => createServer((socket) => void (seen.push(what), socket.destroy()));
  foreign = record('tcp');
  await listening(foreign, { port: 0, host: '0.0.0.0' });
  ({ port } = foreign.address() as AddressInfo);
  foreignUnix = record('unix');
  await listening(foreignUnix, { path: join(folder, 'foreign.sock') });
  chmodSync(join(folder, 'foreign.sock'), 0o777);
  foreignAbstract = record('abstract');
  await listening(foreignAbstract, { path: '\0location-agent-network-test' });
  foreignUdp = createSocket('udp4', () => void seen.push('udp'));
  await new Promise<void>((resolve) => foreignUdp.bind(0, '0.0.0.0', resolve));
  udpPort = foreignUdp.address().port;
});
afterAll(() => {
  for (const server of [foreign, foreignUnix, foreignAbstract, foreignUdp]) server.close();
  host.remove();
});

/** The errno that the program printed. */
const way = (...args: (string | number)[]): string => `
  const { spawnSync } = require('node:child_process');
  const done = spawnSync('NETWORK', ${JSON.stringify(args.map(String))}, { encoding: 'utf8' });
  if (done.status !== 0) throw done.error ?? new Error('killed by ' + done.signal);
  return Number(done.stdout);
`;
const connecting = (options: string): string => `
  return new Promise((resolve) => {
    const socket = require('node:net').connect(${options});
    socket.on('error', ({ code }) => resolve(code)).on('connect', () => { socket.destroy(); resolve('connected'); });
  });
`;

const foreignFile = 'a foreign socket file';
const metadata = '169.254.169.254';
const refusedWays: { name: string; args: () => (string | number)[]; errno: number }[] = [
  { name: 'loopback', args: () => ['tcp', '127.0.0.1', port], errno: errnos.refused },
  { name: 'another address of loopback', args: () => ['tcp', '127.9.9.9', port], errno: errnos.refused },
  { name: 'the unspecified address', args: () => ['tcp', '0.0.0.0', port], errno: errnos.refused },
  { name: 'loopback, mapped', args: () => ['tcp', '::ffff:127.0.0.1', port], errno: errnos.refused },
  { name: 'loopback, UDP', args: () => ['udp', '127.0.0.1', udpPort], errno: errnos.refused },
  { name: 'loopback, sendto', args: () => ['sendto', '127.0.0.1', udpPort], errno: errnos.refused },
  { name: 'loopback, sendmsg', args: () => ['sendmsg', '127.0.0.1', udpPort], errno: errnos.refused },
  { name: 'loopback, sendmmsg', args: () => ['sendmmsg', '127.0.0.1', udpPort], errno: errnos.refused },
  { name: 'loopback, no family', args: () => ['unspecified', '127.0.0.1', udpPort], errno: errnos.family },
  { name: 'loopback, a passed socket', args: () => ['passed', '127.0.0.1', udpPort], errno: errnos.refused },
  { name: 'loopback, not dumpable', args: () => ['hidden', '127.0.0.1', udpPort], errno: errnos.refused },
  { name: 'TCP Fast Open', args: () => ['fast-open', '127.0.0.1', port], errno: errnos.notSupported },
  {
    name: 'TCP Fast Open, sendmsg',
    args: () => ['fast-open-message', '127.0.0.1', port],
    errno: errnos.notSupported,
  },
  { name: 'metadata', args: () => ['tcp', metadata, 80], errno: errnos.acces },
  { name: 'metadata, UDP', args: () => ['sendto', metadata, 80], errno: errnos.acces },
  { name: 'metadata, mapped', args: () => ['tcp', `::ffff:${metadata}`, 80], errno: errnos.acces },
  { name: 'metadata behind NAT64', args: () => ['tcp', `64:ff9b::${metadata}`, 80], errno: errnos.acces },
  {
    name: 'metadata behind local NAT64',
    args: () => ['tcp', '64:ff9b:1:a9fe:a9:fe00::', 80],
    errno: errnos.acces,
  },
  { name: 'metadata in 6to4', args: () => ['tcp', '2002:a9fe:a9fe::1', 80], errno: errnos.acces },
  { name: 'metadata in IPv4-compatible form', args: () => ['tcp', `::${metadata}`, 80], errno: errnos.acces },
  { name: 'metadata, other clouds', args: () => ['tcp', '168.63.129.16', 80], errno: errnos.acces },
  { name: 'metadata, IPv6', args: () => ['tcp', 'fd00:ec2::254', 80], errno: errnos.acces },
  { name: 'link-local, IPv6', args: () => ['sendto', 'fe80::1', 80], errno: errnos.acces },
  { name: 'multicast', args: () => ['sendto', '224.0.0.251', 5353], errno: errnos.acces },
  { name: foreignFile, args: () => ['tcp', join(folder, 'foreign.sock')], errno: errnos.acces },
  { name: 'an abstract socket', args: () => ['tcp', '@location-agent-network-test'], errno: errnos.acces },
  { name: 'datagrams to socket files', args: () => ['unix-datagram'], errno: errnos.protocol },
  { name: 'a pair for datagrams', args: () => ['unix-pair'], errno: errnos.protocol },
  { name: 'a source route', args: () => ['source-route'], errno: errnos.perm },
  { name: 'io_uring', args: () => ['io-uring'], errno: errnos.nosys },
  { name: 'AF_VSOCK', args: () => ['vsock'], errno: errnos.family },
  { name: 'SCTP', args: () => ['sctp'], errno: errnos.protocol },
  { name: 'Multipath TCP', args: () => ['mptcp'], errno: errnos.protocol },
  { name: 'a thread with descriptors of its own', args: () => ['own-descriptors'], errno: errnos.perm },
];

const external = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === 'IPv4' && !found.internal)?.address;
if (external === undefined) process.stderr.write('skipped here: allowed networks, without a network\n');

describe.for(users)('scripts of an agent that runs as $as', ({ uid }) => {
  it.for([
    { host: 'with all layers of this host', without: [], copies: true },
    { host: 'in a container without namespaces', without: ['namespaces', 'mounts'], copies: true },
    { host: 'on a kernel without Landlock', without: ['namespaces', 'mounts', 'landlock'], copies: true },
    { host: 'where pidfd_getfd is refused', without: [], copies: false },
    { host: 'where namespaces are refused too', without: ['namespaces', 'mounts'], copies: false },
  ])('do not reach special addresses in any way $host', async ({ without, copies }) => {
    seen.length = 0;
    const report = await run(
      uid,
      byDefault,
      refusedWays.map(({ args }) => way(...args())),
      { without, copies },
    );
    expect(report.holds['network']).toBe(true);
    expect(report.results.map((result, at) => ({ name: refusedWays[at]?.name, ...result }))).toEqual(
      // With mounts of its own, the program does not even see the file.
      refusedWays.map(({ name, errno }) => ({
        name,
        value: name === foreignFile && report.holds['mounts'] === true ? errnos.absent : errno,
      })),
    );
    expect(seen).toEqual([]);
    expect(report.lines).toContainEqual(
      expect.stringContaining(
        'The connection to 169.254.169.254:80 was refused: it is not in the allowed networks',
      ),
    );
  });

  it.for(bothMeans)(
    'do not reach them by changing the address during the call $means',
    async ({ copies }) => {
      seen.length = 0;
      const own = (server: string, type: string) => `
      ${server}
      const { spawn } = require('node:child_process');
      return new Promise((resolve) => started((allowed) => {
        const racer = spawn('NETWORK', ['race-${type}', '127.0.0.1', '${type === 'tcp' ? port : udpPort}', String(allowed)]);
        racer.stdout.on('data', (text) => resolve(Number(text)));
      }));
    `;
      const report = await run(
        uid,
        byDefault,
        [
          own(
            `const server = require('node:net').createServer((socket) => socket.destroy());
         const started = (then) => server.listen(0, '127.0.0.1', () => then(server.address().port));`,
            'tcp',
          ),
          own(
            `const server = require('node:dgram').createSocket('udp4');
         const started = (then) => server.bind(0, '127.0.0.1', () => then(server.address().port));`,
            'udp',
          ),
        ],
        { copies },
      );
      // Some calls saw the allowed port, and those worked.
      for (const { value } of report.results) expect(value).toBeGreaterThan(0);
      expect(seen).toEqual([]);
    },
  );

  it.for(bothMeans)(
    'without programs are limited too, also by names that resolve to a special address $means',
    async ({ copies }) => {
      seen.length = 0;
      const name = `{ host: 'harmless.test', port: 80, lookup: (_name, _options, done) => done(null, [{ address: '${metadata}', family: 4 }]) }`;
      const bodies = [
        connecting(`${port}, '127.0.0.1'`),
        connecting(name),
        connecting(`'${folder}/foreign.sock'`),
      ];
      const report = await run(uid, byDefault, bodies, { programs: false, copies });
      expect(report.results).toEqual([
        { value: 'ECONNREFUSED' },
        { value: 'EACCES' },
        { value: 'EAFNOSUPPORT' },
      ]);
      expect(seen).toEqual([]);
    },
  );

  it.for(bothMeans)(
    'reach their own servers on loopback, and their own socket files $means',
    async ({ copies }) => {
      const toOwn = (at: string, address: string) => `
      return new Promise((resolve) => {
        const server = require('node:net').createServer((socket) => socket.end('hello'));
        server.listen(${at}, () => {
          const { port } = server.address();
          require('node:net').connect(${address}).on('data', (text) => resolve(String(text))).on('error', resolve);
        });
      });
    `;
      const udp = `
      return new Promise((resolve) => {
        const dgram = require('node:dgram');
        const server = dgram.createSocket('udp4', (text, { port }) => server.send('answer to ' + text, port, '127.0.0.1'));
        server.bind(0, '127.0.0.1', () => {
          const client = dgram.createSocket('udp4', (text) => resolve(String(text)));
          client.send('hello', server.address().port, '127.0.0.1', (error) => error && resolve(error));
        });
      });
    `;
      // Whatever the supervisor keeps must not keep a port or a connection open.
      const portAgain = `
      const bind = (port) => new Promise((resolve, reject) => {
        const socket = require('node:dgram').createSocket('udp4');
        socket.on('error', reject).bind(port, '127.0.0.1', () => resolve(socket));
      });
      const first = await bind(0);
      const { port } = first.address();
      await new Promise((resolve) => first.close(resolve));
      await bind(port);
      return 'bound again';
    `;
      const closes = `
      return new Promise((resolve, reject) => {
        const server = require('node:net').createServer((socket) => socket.on('end', () => {
          const { port } = server.address();
          server.close(() => server.listen(port, '127.0.0.1', () => resolve('closed')));
          socket.end();
        }).resume());
        server.on('error', reject).listen(0, '127.0.0.1', () => {
          const client = require('node:net').connect(server.address().port, '127.0.0.1', () => client.destroy());
        });
      });
    `;
      const { results } = await run(
        uid,
        byDefault,
        [
          toOwn(`0, '127.0.0.1'`, `port, '127.0.0.1'`),
          toOwn('0', `port, '127.0.0.1'`),
          toOwn(`0, '::1'`, `port, '::1'`),
          toOwn(`'OWN/server.sock'`, `'OWN/server.sock'`),
          udp,
          portAgain,
          closes,
        ],
        { copies },
      );
      expect(results).toEqual([
        ...Array<unknown>(4).fill({ value: 'hello' }),
        { value: 'answer to hello' },
        { value: 'bound again' },
        { value: 'closed' },
      ]);
    },
  );

  it.runIf(external !== undefined).for(bothMeans)(
    'reach the networks that the location allows, and no others $means',
    async ({ copies }) => {
      const to = [connecting(`${port}, '${external}'`), connecting(`${port}, '127.0.0.1'`)];
      const answers = async (network: Partial<Exclude<ScriptNetwork, 'unlimited'>>) =>
        (
          await run(uid, { ...(byDefault as object), ...network } as ScriptNetwork, to, { copies })
        ).results.map(({ value }) => value);
      expect(await answers({})).toEqual(['connected', 'ECONNREFUSED']);
      expect(await answers({ allowed: ['0.0.0.0/0', `127.0.0.1:${port}`] })).toEqual([
        'connected',
        'connected',
      ]);
      expect(await answers({ allowed: ['10.77.0.0/16'] })).toEqual(['EACCES', 'ECONNREFUSED']);
      expect(await answers({ denied: [`${external}`] })).toEqual(['EACCES', 'ECONNREFUSED']);
      // The agent's own port is refused on all addresses of this machine, even if the location allows them.
      expect(await answers({ ownPorts: [port], allowed: ['0.0.0.0/0', '127.0.0.0/8'] })).toEqual([
        'EACCES',
        'ECONNREFUSED',
      ]);
    },
  );
});
