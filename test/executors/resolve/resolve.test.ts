import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer } from 'dns-packet';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import type { IpFamily, Network } from '../../../src/executors/interface/network.ts';
import { parseResolvConf } from '../../../src/executors/resolve/resolv-conf.ts';
import { createIpv6Routes, type Ipv6Routes } from '../../../src/executors/resolve/ipv6.ts';
import { toAsciiName } from '../../../src/executors/interface/name.ts';
import { candidateNames } from '../../../src/executors/resolve/stub.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import {
  flagBits,
  startDnsServer,
  type DnsServerOptions,
  type TestDnsServer,
} from '../../helpers/network/dns-server.ts';

let folder: string;
const servers = new Set<TestDnsServer>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'resolve-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(async () => {
  for (const server of servers) await server.close();
  servers.clear();
});

async function serve(answer: DnsServerOptions['answer']): Promise<TestDnsServer> {
  const server = await startDnsServer({ answer });
  servers.add(server);
  return server;
}

let files = 0;
function file(text: string): string {
  files += 1;
  const path = join(folder, String(files));
  writeFileSync(path, text);
  return path;
}

const at = (...list: TestDnsServer[]) => list.map(({ port }) => `nameserver [127.0.0.1]:${port}\n`).join('');

function network(conf: string, hosts = '', now?: () => number): Network {
  return createNetwork({
    useOsDnsResolver: false,
    hostsFile: file(hosts),
    resolvConfFile: file(conf),
    ...(now === undefined ? {} : { now }),
  });
}

const resolve = (from: Network, name: string, family: IpFamily = 4, signal?: AbortSignal) =>
  from.resolve(name, { family, signal: signal ?? new AbortController().signal });
const addresses = async (from: Network, name: string, family: IpFamily = 4) =>
  (await resolve(from, name, family)).addresses.map(({ address }) => address);
const a = (data: string, name: string): Answer => ({ type: 'A', name, data });

describe('without a name server', () => {
  test('literals', async () => {
    const from = network('');
    const literal = (address: string, family: IpFamily) => ({
      addresses: [{ address, family }],
      source: 'literal',
      durationMs: 0,
      ipFallback: false,
    });
    expect(await resolve(from, '192.0.2.1')).toEqual(literal('192.0.2.1', 4));
    expect(await resolve(from, '[::1]', 6)).toEqual(literal('::1', 6));
    expect(await resolve(from, 'fe80::1%lo', 6)).toEqual(literal('fe80::1%lo', 6));
    for (const [name, family] of [
      ['::1', 4],
      ['[::1]', 4],
      ['192.0.2.1', 6],
    ] as const) {
      await expect(resolve(from, name, family)).rejects.toMatchObject({
        name: 'ResolveError',
        code: 'ERR_INVALID_IP_ADDRESS',
      });
    }
  });

  test('the hosts file: order, aliases, letters, comments', async () => {
    const from = network(
      '',
      '# comment\n192.0.2.1\tWeb.Example alias # web.test\n192.0.2.2 web.example\n2001:db8::1 web.example\nbad entry\n192.0.2.1 web.example\n',
    );
    expect(await resolve(from, 'WEB.example.')).toEqual({
      addresses: [
        { address: '192.0.2.1', family: 4 },
        { address: '192.0.2.2', family: 4 },
      ],
      source: 'hosts',
      durationMs: expect.any(Number),
      ipFallback: false,
    });
    expect(await addresses(from, 'alias')).toEqual(['192.0.2.1']);
  });

  test('the hosts file is checked once a second and read again after a change', async () => {
    let time = 0;
    const hostsFile = file('192.0.2.1 web.example\n');
    const from = createNetwork({
      useOsDnsResolver: false,
      hostsFile,
      resolvConfFile: file(''),
      now: () => time,
    });
    expect(await addresses(from, 'web.example')).toEqual(['192.0.2.1']);
    writeFileSync(hostsFile, '192.0.2.2 web.example\n');
    utimesSync(hostsFile, 1, 1); // the same size: only the time tells
    time = 999;
    expect(await addresses(from, 'web.example')).toEqual(['192.0.2.1']);
    time = 1000;
    expect(await addresses(from, 'web.example')).toEqual(['192.0.2.2']);
  });

  test('localhost and names below it', async () => {
    const from = network('', '127.0.0.5 localhost\n');
    expect(await addresses(from, 'localhost')).toEqual(['127.0.0.5']);
    expect(await addresses(from, 'app.localhost.')).toEqual(['127.0.0.1']);
  });

  test.each(['', 'a b', 'a..b', 'web:80', '[web]:80', 'a/b', 'x'.repeat(64), `${'abcdefg.'.repeat(32)}com`])(
    '"%s" is no name',
    async (name) => {
      await expect(resolve(network(''), name)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    },
  );

  test('international names', () => {
    expect(toAsciiName('Bücher.Example')).toBe('xn--bcher-kva.example');
    expect(toAsciiName('Web_1.example.')).toBe('web_1.example.');
  });
});

describe('resolv.conf', () => {
  test('all options of resolv.conf', () => {
    expect(
      parseResolvConf(
        '; comment\nnameserver 192.0.2.1\nnameserver 2001:db8::1 # two\nnameserver [192.0.2.3]:5353\nnameserver 192.0.2.4\nnameserver x\ndomain old.example\nsearch a.example B.example.\noptions ndots:20 timeout:2 attempts:9 rotate use-vc edns0\n',
        'host.own.example',
      ),
    ).toEqual({
      servers: [
        { address: '192.0.2.1', port: 53 },
        { address: '2001:db8::1', port: 53 },
        { address: '192.0.2.3', port: 5353 },
      ],
      search: ['a.example', 'b.example'],
      ndots: 15,
      timeoutMs: 2000,
      attempts: 5,
      rotate: true,
      useTcp: true,
    });
  });

  test('an empty one: the local server and the own domain', () => {
    expect(parseResolvConf('', 'host.own.example')).toEqual({
      servers: [{ address: '127.0.0.1', port: 53 }],
      search: ['own.example'],
      ndots: 1,
      timeoutMs: null,
      attempts: 2,
      rotate: false,
      useTcp: false,
    });
    expect(parseResolvConf('', 'host').search).toEqual([]);
  });

  test('the search list', () => {
    const conf = { search: ['a.example', 'b.example'], ndots: 2 };
    expect(candidateNames('web', conf)).toEqual(['web.a.example', 'web.b.example', 'web']);
    expect(candidateNames('web.x', conf)).toEqual(['web.x.a.example', 'web.x.b.example', 'web.x']);
    expect(candidateNames('web.x.y', conf)).toEqual(['web.x.y', 'web.x.y.a.example', 'web.x.y.b.example']);
    expect(candidateNames('web.', conf)).toEqual(['web.']);
  });

  test('name servers are offered to checks, and a change is seen', async () => {
    let time = 0;
    const resolvConfFile = file('nameserver 192.0.2.1\n');
    const from = createNetwork({
      useOsDnsResolver: false,
      hostsFile: file(''),
      resolvConfFile,
      now: () => time,
    });
    expect(await from.nameServers()).toEqual([{ address: '192.0.2.1', port: 53 }]);
    writeFileSync(resolvConfFile, 'nameserver 192.0.2.22\n');
    time = 1000;
    expect(await from.nameServers()).toEqual([{ address: '192.0.2.22', port: 53 }]);
  });
});

describe('with name servers', () => {
  test('a chain of aliases', async () => {
    const server = await serve((query) =>
      query.reply([
        { type: 'CNAME', name: 'www.example', data: 'b.example' },
        { type: 'CNAME', name: 'B.example', data: 'c.example' },
        a('192.0.2.7', 'other.example'),
        a('192.0.2.1', 'c.example'),
        a('192.0.2.2', 'C.example'),
      ]),
    );
    expect(await resolve(network(at(server)), 'www.example')).toEqual({
      addresses: [
        { address: '192.0.2.1', family: 4 },
        { address: '192.0.2.2', family: 4 },
      ],
      source: 'dns',
      durationMs: expect.any(Number),
      ipFallback: false,
    });
    expect(server.queries[0]?.packet).toMatchObject({ flag_rd: true, additionals: [] });
  });

  test('a loop of aliases is an error', async () => {
    const server = await serve((query) =>
      query.reply([
        { type: 'CNAME', name: 'a.example', data: 'b.example' },
        { type: 'CNAME', name: 'b.example', data: 'a.example' },
      ]),
    );
    await expect(resolve(network(at(server)), 'a.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('no such name, and no address of the family', async () => {
    const server = await serve((query) => query.reply([], { rcode: query.name === 'no.example' ? 3 : 0 }));
    const from = network(at(server));
    for (const name of ['no.example', 'empty.example']) {
      await expect(resolve(from, name)).rejects.toMatchObject({
        name: 'ResolveError',
        code: 'ENOTFOUND',
        message: `${name} has no IPv4 address`,
      });
    }
  });

  test('the search list is walked', async () => {
    const server = await serve((query) =>
      query.name === 'web.b.example'
        ? query.reply([a('192.0.2.1', query.name)])
        : query.reply([], { rcode: 3 }),
    );
    const from = network(`${at(server)}search a.example b.example\n`);
    expect(await addresses(from, 'web')).toEqual(['192.0.2.1']);
    expect(server.queries.map(({ name }) => name)).toEqual(['web.a.example', 'web.b.example']);
  });

  test('a truncated answer is requested again over TCP', async () => {
    const server = await serve((query) =>
      query.transport === 'udp'
        ? query.reply([], { flags: flagBits.tc })
        : query.reply([a('192.0.2.1', 'big.example')]),
    );
    expect(await addresses(network(at(server)), 'big.example')).toEqual(['192.0.2.1']);
    expect(server.queries.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  test('uses only TCP with the option use-vc', async () => {
    const server = await serve((query) => query.reply([a('192.0.2.1', 'x.example')]));
    expect(await addresses(network(`${at(server)}options use-vc\n`), 'x.example')).toEqual(['192.0.2.1']);
    expect(server.queries.map(({ transport }) => transport)).toEqual(['tcp']);
  });

  test('a failing server hands over to the next, and rotate begins elsewhere each time', async () => {
    const bad = await serve((query) => query.reply([], { rcode: 2 }));
    const good = await serve((query) => query.reply([a('192.0.2.1', 'x.example')]));
    expect(await addresses(network(at(bad, good)), 'x.example')).toEqual(['192.0.2.1']);
    expect([bad.queries.length, good.queries.length]).toEqual([1, 1]);
    const rotating = network(`${at(bad, good)}options rotate\n`);
    await addresses(rotating, 'x.example');
    await addresses(rotating, 'x.example');
    expect([bad.queries.length, good.queries.length]).toEqual([2, 3]);
  });

  test('only failures', async () => {
    const bad = await serve((query) => query.reply([], { rcode: 2 }));
    await expect(resolve(network(at(bad)), 'x.example')).rejects.toMatchObject({
      code: 'EAI_AGAIN',
      message: 'x.example could not be resolved: 127.0.0.1 answered SERVFAIL',
    });
    expect(bad.queries).toHaveLength(2);
    const port = bad.port;
    await bad.close();
    servers.delete(bad);
    await expect(resolve(network(`nameserver [127.0.0.1]:${port}\n`), 'x.example')).rejects.toMatchObject({
      code: 'EAI_AGAIN',
      message: 'x.example could not be resolved: 127.0.0.1: ECONNREFUSED',
    });
  });

  test('a failure within the search list is reported if no other name resolves', async () => {
    const server = await serve((query) => query.reply([], { rcode: query.name === 'web.a.example' ? 2 : 3 }));
    const from = network(`${at(server)}search a.example\noptions attempts:1\n`);
    await expect(resolve(from, 'web')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    expect(server.queries.map(({ name }) => name)).toEqual(['web.a.example', 'web']);
  });

  test('a silent server costs a second, and is then queried last', async () => {
    const silent = await serve(() => null);
    const good = await serve((query) => query.reply([a('192.0.2.1', 'x.example')]));
    const from = network(at(silent, good));
    const first = await resolve(from, 'x.example');
    expect(first.durationMs).toBeGreaterThan(900);
    await resolve(from, 'x.example');
    expect([silent.queries.length, good.queries.length]).toEqual([1, 2]);
  });

  test('a late answer counts although the query went out again', async () => {
    let number = 0;
    const slow = await serve(async (query) => {
      number += 1;
      const address = `192.0.2.${number}`;
      await new Promise((done) => setTimeout(done, 1600));
      return query.reply([a(address, 'x.example')]);
    });
    // The answer to the first query, which arrives a second before the other.
    expect(await addresses(network(at(slow)), 'x.example')).toEqual(['192.0.2.1']);
    expect(slow.queries).toHaveLength(2);
  });

  test('only silence', async () => {
    const silent = await serve(() => null);
    const from = network(`${at(silent)}options timeout:1 attempts:1\n`);
    await expect(resolve(from, 'x.example')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'x.example could not be resolved: no answer from 127.0.0.1',
    });
  });

  test('datagrams that do not belong to the query are ignored', async () => {
    const server = await serve((query) => {
      const forged = query.reply([a('192.0.2.66', 'x.example')]);
      forged.writeUInt16BE(forged.readUInt16BE(0) ^ 1);
      return [Buffer.from('?'), forged, query.reply([a('192.0.2.1', 'x.example')])];
    });
    expect(await addresses(network(at(server)), 'x.example')).toEqual(['192.0.2.1']);
  });

  test('an abort rejects at once with its reason', async () => {
    const silent = await serve(() => null);
    const controller = new AbortController();
    const reason = new JobAborted('cancelled');
    setTimeout(() => controller.abort(reason), 30);
    await expect(resolve(network(at(silent)), 'x.example', 4, controller.signal)).rejects.toBe(reason);
    await expect(resolve(network(''), 'x.example', 4, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test('resolves many names while four others wait for their answers', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((done) => (release = done));
    const server = await serve(async (query) => {
      if (query.name.startsWith('slow')) await held;
      return query.reply([a('192.0.2.1', query.name)]);
    });
    const from = network(at(server));
    const slow = ['slow1.x', 'slow2.x', 'slow3.x', 'slow4.x'].map((name) => resolve(from, name));
    const quick = await Promise.all(Array.from({ length: 50 }, (_, i) => resolve(from, `quick${i}.x`)));
    expect(quick).toHaveLength(50);
    release();
    expect(await Promise.all(slow)).toHaveLength(4);
  });
});

describe('IPv6', () => {
  const both: DnsServerOptions['answer'] = (query) => {
    if (query.type === 28 && query.name === 'both.example') {
      return query.reply([
        { type: 'AAAA', name: query.name, data: '2001:db8:0:0:0:0:0:1' },
        { type: 'AAAA', name: query.name, data: 'fd00:0:0:0:0:0:0:1' },
      ]);
    }
    return query.reply(query.type === 1 ? [a('192.0.2.1', query.name)] : []);
  };

  async function hostWith(ipv6Routes: Ipv6Routes): Promise<Network> {
    const server = await serve(both);
    return createNetwork({
      useOsDnsResolver: false,
      hostsFile: file(''),
      resolvConfFile: file(at(server)),
      ipv6Routes,
    });
  }
  const none: Ipv6Routes = { reaches: async () => false, available: async () => false };
  const ipv4 = {
    addresses: [{ address: '192.0.2.1', family: 4 }],
    source: 'dns',
    durationMs: expect.any(Number),
  };

  test('a route to any of the addresses: no fallback', async () => {
    const from = await hostWith({
      reaches: async (address) => address.startsWith('fd'),
      available: async () => true,
    });
    expect(await resolve(from, 'both.example', 6)).toEqual({
      addresses: [
        { address: '2001:db8::1', family: 6 },
        { address: 'fd00::1', family: 6 },
      ],
      source: 'dns',
      durationMs: expect.any(Number),
      ipFallback: false,
    });
    await expect(resolve(from, 'four.example', 6)).rejects.toMatchObject({
      code: 'ENOTFOUND',
      message: 'four.example has no IPv6 address',
    });
  });

  test('no route: IPv4 addresses, marked', async () => {
    const from = await hostWith(none);
    expect(await resolve(from, 'both.example', 6)).toEqual({ ...ipv4, ipFallback: true });
    expect(await resolve(from, 'four.example', 6)).toEqual({ ...ipv4, ipFallback: true });
  });

  test('falls back to IPv4 if there is no route to these IPv6 addresses', async () => {
    const from = await hostWith({ reaches: async () => false, available: async () => true });
    expect(await resolve(from, 'both.example', 6)).toEqual({ ...ipv4, ipFallback: true });
    await expect(resolve(from, 'four.example', 6)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('returns the IPv6 addresses if there is no route and no IPv4 address', async () => {
    const hostsFile = file('2001:db8::1 six.test\n');
    const server = await serve((query) => query.reply([], { rcode: 3 }));
    const from = createNetwork({
      useOsDnsResolver: false,
      hostsFile,
      resolvConfFile: file(at(server)),
      ipv6Routes: none,
    });
    expect(await resolve(from, 'six.test', 6)).toMatchObject({
      addresses: [{ address: '2001:db8::1' }],
      ipFallback: false,
    });
    expect((await resolve(from, '2001:db8::1', 6)).ipFallback).toBe(false);
  });

  test("the kernel's own word: an address of this host is reached", async () => {
    const routes = createIpv6Routes(() => 0);
    const own = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find(({ family, scopeid }) => family === 'IPv6' && scopeid === 0);
    expect(await routes.reaches('::1')).toBe(own !== undefined);
    if (own !== undefined) expect(await routes.reaches(own.address)).toBe(true);
  });
});

describe("the operating system's resolver", () => {
  const os = createNetwork({ useOsDnsResolver: true });

  test('names and errors', async () => {
    expect(await resolve(os, 'localhost')).toEqual({
      addresses: [{ address: '127.0.0.1', family: 4 }],
      source: 'os',
      durationMs: expect.any(Number),
      ipFallback: false,
    });
    expect((await resolve(os, '192.0.2.1')).source).toBe('literal');
    await expect(resolve(os, 'a b')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('an abort does not wait for it', async () => {
    const reason = new JobAborted('cancelled');
    const controller = new AbortController();
    const pending = resolve(os, 'localhost', 4, controller.signal);
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
  });
});
