import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AgentError, JobAborted } from '../../../src/errors.ts';
import { openPingSocket } from '../../../src/executors/icmp/ping-socket-open.ts';
import type {
  EchoOptions,
  PingSocket,
  PingSocketOptions,
} from '../../../src/executors/interface/ping-socket.ts';
import type { RogueAnswer } from './ping-child.ts';
import {
  canGrantByFile,
  canUseNamespaces,
  compileChild,
  grantByFile,
  hasRawSocketPackage,
  inNamespace,
} from './ping-namespace.ts';
import { hasIpv6Loopback } from '../../helpers/machine.ts';

const available = await openPingSocket(4).then(
  (socket) => {
    socket.close();
    return true;
  },
  () => false,
);

const options = (fields: Partial<EchoOptions> = {}): EchoOptions => ({
  payloadBytes: 56,
  timeoutMs: 5000,
  signal: new AbortController().signal,
  ...fields,
});

describe.skipIf(!available)('ping socket on loopback', () => {
  const opened: PingSocket[] = [];
  const open = async (family: 4 | 6, own?: PingSocketOptions): Promise<PingSocket> => {
    const socket = await openPingSocket(family, own);
    opened.push(socket);
    return socket;
  };
  afterEach(() => {
    for (const socket of opened.splice(0)) socket.close();
  });

  const addresses = [
    [4, '127.0.0.1', 0],
    [4, '0.0.0.0', 0],
    [6, '::1', 129],
    [6, '0:0:0:0:0:0:0:1', 129],
  ] as const;
  it.each(addresses.filter(([family]) => family === 4 || hasIpv6Loopback))(
    'IPv%i %s answers',
    async (family, address, type) => {
      const socket = await open(family);
      const reply = await socket.echo(address, options());
      expect(reply).toEqual({
        rttMs: expect.any(Number) as number,
        size: 56,
        ttl: 64,
        type,
        code: 0,
        error: null,
      });
      expect(reply?.rttMs).toBeGreaterThan(0);
      expect(reply?.rttMs).toBeLessThan(1000);
    },
  );

  it('sends payloads of other sizes', async () => {
    const socket = await open(4);
    expect(await socket.echo('127.0.0.1', options({ payloadBytes: 8 }))).toMatchObject({ size: 8 });
    expect(await socket.echo('127.0.0.1', options({ payloadBytes: 1400 }))).toMatchObject({ size: 1400 });
    await expect(socket.echo('127.0.0.1', options({ payloadBytes: 7 }))).rejects.toMatchObject({
      code: 'EMSGSIZE',
    });
    await expect(socket.echo('127.0.0.1', options({ payloadBytes: 1401 }))).rejects.toMatchObject({
      code: 'EMSGSIZE',
    });
  });

  it('sends from an address of its own, and not from one of others', async () => {
    const socket = await open(4, { source: '127.0.0.9' });
    expect(await socket.echo('127.0.0.1', options())).toMatchObject({ size: 56, error: null });
    await expect(open(4, { source: '192.0.2.9' })).rejects.toThrow('EADDRNOTAVAIL');
  });

  it('fills large frames without fragments', async () => {
    const socket = await open(4, { whole: true });
    expect(await socket.echo('127.0.0.1', options({ payloadBytes: 8972 }))).toMatchObject({ size: 8972 });
    await expect(socket.echo('127.0.0.1', options({ payloadBytes: 8973 }))).rejects.toMatchObject({
      code: 'EMSGSIZE',
    });
  });

  it('keeps hundreds of echoes apart, to many targets at once', async () => {
    const socket = await open(4);
    const targets = Array.from({ length: 800 }, (_, index) => `127.1.${index >> 8}.${index & 255 || 1}`);
    const replies = await Promise.all(targets.map((target) => socket.echo(target, options())));
    expect(replies.filter((reply) => reply?.error === null)).toHaveLength(800);
  });

  it('works after more echoes than there are sequence numbers', async () => {
    const socket = await open(4);
    const answered = async (count: number) => {
      const echoes = Array.from({ length: count }, () => socket.echo('127.0.0.1', options()));
      return (await Promise.all(echoes)).filter((reply) => reply !== null).length;
    };
    expect(await answered(200)).toBe(200);
    // What is too large to be sent takes a number each, too, and little time.
    const tooLarge = options({ payloadBytes: 1401 });
    for (let taken = 200; taken < 65_400; taken += 200) {
      const refused = Array.from({ length: 200 }, () => socket.echo('127.0.0.1', tooLarge));
      const reasons = (await Promise.allSettled(refused)).map(({ status }) => status);
      expect(new Set(reasons)).toEqual(new Set(['rejected']));
    }
    // Over the last number, and those of the first once more.
    expect(await answered(400)).toBe(400);
  });

  it('counts a reply that came in time though it was read late', async () => {
    const socket = await open(4);
    const echo = socket.echo('127.0.0.1', options({ timeoutMs: 30 }));
    for (const until = performance.now() + 150; performance.now() < until;);
    const reply = await echo;
    expect(reply?.rttMs).toBeLessThan(30);
  });

  it('rejects with the reason of the signal, before and while waiting', async () => {
    const socket = await open(4);
    const controller = new AbortController();
    const reason = new JobAborted('cancelled');
    const waiting = socket.echo('127.0.0.1', options({ signal: controller.signal }));
    controller.abort(reason); // the reply can't be read before this turn ends
    await expect(waiting).rejects.toBe(reason);
    await expect(socket.echo('127.0.0.1', options({ signal: controller.signal }))).rejects.toBe(reason);
    expect(await socket.echo('127.0.0.1', options())).toMatchObject({ error: null });
  });

  it('refuses addresses of another family', async () => {
    const socket = await open(4);
    for (const address of ['::1', 'localhost', '', '127.0.0.1.1', '1'.repeat(500)]) {
      await expect(socket.echo(address, options())).rejects.toMatchObject({ code: 'EINVAL' });
    }
  });

  it('rejects pending echoes when it is closed, and sends nothing afterwards', async () => {
    const socket = await open(4);
    const pending = socket.echo('127.0.0.1', options());
    socket.close();
    socket.close();
    expect(await pending).toBe(null);
    await expect(socket.echo('127.0.0.1', options())).rejects.toEqual(
      new AgentError('NETWORK_UNAVAILABLE', 'the ping socket is closed'),
    );
  });

  it('leaks nothing when it is opened and closed many times', async () => {
    for (let round = 0; round < 200; round++) {
      const socket = await openPingSocket(round % 2 === 0 ? 4 : 6);
      if (round % 20 === 0) await socket.echo('127.0.0.1', options());
      socket.close();
    }
  });
});

describe.skipIf(!canUseNamespaces)('ping socket in a network of its own', () => {
  const child: { current: ReturnType<typeof compileChild> | null } = { current: null };
  const folder = (kind: 'withAddon' | 'withoutAddon'): string => child.current?.[kind] ?? '';
  beforeAll(() => {
    child.current = compileChild();
  });
  afterAll(() => child.current?.remove());

  const answered = { rttMs: expect.any(Number) as number, size: 56, code: 0, error: null };

  it('needs no privilege where the group range allows it', async () => {
    expect(
      await inNamespace({
        folder: folder('withAddon'),
        pingGroups: 'everybody',
        unprivileged: true,
        orders: [
          { kind: 'echo', family: 4, address: '127.0.0.1', timeoutMs: 2000 },
          { kind: 'echo', family: 6, address: '::1', timeoutMs: 2000 },
        ],
      }),
    ).toEqual([
      { way: 'ping', replies: [{ ...answered, ttl: 64, type: 0 }] },
      { way: 'ping', replies: [{ ...answered, ttl: 64, type: 129 }] },
    ]);
  });

  it('takes a raw socket where it may', async () => {
    expect(
      await inNamespace({
        folder: folder('withAddon'),
        orders: [
          { kind: 'open', family: 4 },
          { kind: 'open', family: 6 },
        ],
      }),
    ).toEqual([{ way: 'raw' }, { way: 'raw' }]);
  });

  it.skipIf(!canGrantByFile)(
    'takes a raw socket from the helper whose file may have the capability',
    async () => {
      const granted = grantByFile(folder('withAddon'));
      const echoes = [
        { kind: 'echo', family: 4, address: '127.0.0.1', timeoutMs: 2000, count: 3 },
        { kind: 'echo', family: 6, address: '::1', timeoutMs: 2000 },
      ] as const;
      expect(await inNamespace({ folder: granted, unprivileged: 'by file', orders: [...echoes] })).toEqual([
        { way: 'raw', replies: Array.from({ length: 3 }, () => ({ ...answered, ttl: 64, type: 0 })) },
        { way: 'raw', replies: [{ ...answered, ttl: 64, type: 129 }] },
      ]);
      // A container without NET_RAW cannot start it at all.
      const orders = [{ kind: 'open', family: 4 } as const];
      const [refused] = await inNamespace({ folder: granted, unprivileged: true, orders });
      expect(refused).toMatchObject({
        code: 'ICMP_UNAVAILABLE',
        error: expect.stringContaining('raw socket by its helper: EPERM (the capability') as string,
      });
    },
  );

  it('without permission, names the attempts and how to grant it', async () => {
    const [v4, v6] = await inNamespace({
      folder: folder('withAddon'),
      unprivileged: true,
      orders: [
        { kind: 'open', family: 4 },
        { kind: 'open', family: 6 },
      ],
    });
    const tried =
      'ping socket: EACCES (group 65534 is outside of net.ipv4.ping_group_range, which is "1 0"); ' +
      'raw socket: EPERM (the capability NET_RAW is missing). ';
    const remedy =
      'Grant one of them: sysctl -w net.ipv4.ping_group_range="0 2147483647" (for a container: --sysctl, or a pod\'s ' +
      'securityContext.sysctls), or the capability NET_RAW (--cap-add NET_RAW, or capabilities.add: [NET_RAW])';
    expect(v4).toEqual({ code: 'ICMP_UNAVAILABLE', error: `cannot ping over IPv4: ${tried}${remedy}` });
    expect(v6).toEqual({ code: 'ICMP_UNAVAILABLE', error: `cannot ping over IPv6: ${tried}${remedy}` });
  });

  it.skipIf(!hasRawSocketPackage)('uses the raw-socket package where the addon is missing', async () => {
    const orders = [
      { kind: 'echo', family: 4, address: '127.0.0.1', timeoutMs: 2000, count: 300 },
      { kind: 'echo', family: 6, address: '::1', timeoutMs: 2000 },
    ] as const;
    const [v4, v6] = await inNamespace({ folder: folder('withoutAddon'), orders: [...orders] });
    expect(v4).toEqual({
      way: 'raw',
      replies: Array.from({ length: 300 }, () => ({ ...answered, ttl: 64, type: 0 })),
    });
    expect(v6).toEqual({ way: 'raw', replies: [{ ...answered, ttl: null, type: 129 }] });
    const [refused] = await inNamespace({
      folder: folder('withoutAddon'),
      unprivileged: true,
      orders: [{ kind: 'open', family: 4 }],
    });
    expect(refused).toMatchObject({
      code: 'ICMP_UNAVAILABLE',
      error: expect.stringMatching(
        /^cannot ping over IPv4: ping socket: the native addon was not built \(run: \S*node \S*scripts\/native\.mjs\); raw-socket package: /,
      ) as string,
    });
  });

  // Sequence by sequence: only the right packets count, and nothing that came too late.
  const answers: RogueAnswer[] = [
    'right',
    'wrong id',
    'wrong sequence',
    'wrong payload',
    'short',
    'twice',
    'late',
    'request',
    'none',
    'right',
  ];
  it.skipIf(!hasRawSocketPackage).each([
    ['ping', 4, 'withAddon', 'everybody'],
    ['raw', 4, 'withAddon', 'nobody'],
    ['raw', 4, 'withoutAddon', 'nobody'],
    ['ping', 6, 'withAddon', 'everybody'],
    ['raw', 6, 'withAddon', 'nobody'],
  ] as const)('believes only true replies (%s socket, IPv%i, %s)', async (way, family, kind, pingGroups) => {
    const address = family === 4 ? '127.0.0.1' : '::1';
    const [result, elsewhere] = await inNamespace({
      folder: folder(kind),
      pingGroups,
      prepare:
        'echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all; echo 1 > /proc/sys/net/ipv6/icmp/echo_ignore_all',
      orders: [{ kind: 'rogue', family, address, answers, timeoutMs: 150 }],
    });
    expect(elsewhere).toBe(undefined);
    expect(result).toEqual({
      way,
      answered: answers.map((answer) => answer === 'right' || answer === 'twice'),
    });
  });

  it('reports ICMP errors of routers and of the own host', async () => {
    const echo = (address: string, ttl?: number) =>
      ({ kind: 'echo', family: 4, address, timeoutMs: 3000, ...(ttl === undefined ? {} : { ttl }) }) as const;
    const network = {
      folder: folder('withAddon'),
      router: [
        'ip link set lo up; ip addr add 10.1.0.2/24 dev far; ip link set far up',
        'echo 1 > /proc/sys/net/ipv4/ip_forward',
        'ip route add unreachable 10.2.0.0/16; ip route add prohibit 10.3.0.0/16; ip route add 10.4.0.0/16 via 10.1.0.9',
      ].join('; '),
      prepare: [
        'ip addr add 10.1.0.1/24 dev near; ip link set near up; ip route add default via 10.1.0.2',
        'ip route add unreachable 10.5.0.0/16',
      ].join('\n'),
      orders: [
        echo('10.1.0.2'),
        echo('10.2.0.1'),
        echo('10.3.0.1'),
        echo('10.4.0.1', 1),
        echo('10.5.0.1'),
        // Errors of other requests are pending on the socket meanwhile; these stay unharmed.
        { ...echo('127.0.0.1'), count: 50 },
      ],
    };
    const failed = (type: number, code: number, errno: string) => ({
      rttMs: expect.any(Number) as number,
      size: 0,
      ttl: null,
      type,
      code,
      error: { code: errno, from: '10.1.0.2' },
    });
    for (const pingGroups of ['everybody', 'nobody'] as const) {
      const way = pingGroups === 'everybody' ? 'ping' : 'raw';
      expect(await inNamespace({ ...network, pingGroups })).toEqual([
        { way, replies: [{ ...answered, ttl: 64, type: 0 }] },
        { way, replies: [failed(3, 1, 'EHOSTUNREACH')] },
        { way, replies: [failed(3, 13, 'EHOSTUNREACH')] },
        { way, replies: [failed(11, 0, 'EHOSTUNREACH')] },
        { code: null, error: 'echo request not sent: EHOSTUNREACH' },
        { way, replies: Array.from({ length: 50 }, () => ({ ...answered, ttl: 64, type: 0 })) },
      ]);
    }
  });

  it('reports ICMPv6 errors of routers', async () => {
    const echo = (address: string, ttl: number) =>
      ({ kind: 'echo', family: 6, address, timeoutMs: 5000, ttl }) as const;
    const network = {
      folder: folder('withAddon'),
      router: [
        'ip link set lo up; ip link set far up; ip addr add 2001:db8:1::2/64 dev far nodad',
        'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding',
        'ip route add unreachable 2001:db8:2::/64; ip route add 2001:db8:3::/64 via 2001:db8:1::9',
      ].join('; '),
      prepare: [
        'ip link set near up; ip addr add 2001:db8:1::1/64 dev near nodad',
        'ip -6 route add default via 2001:db8:1::2',
      ].join('\n'),
      orders: [echo('2001:db8:1::2', 64), echo('2001:db8:2::1', 64), echo('2001:db8:3::1', 1)],
    };
    const failed = (type: number, code: number, errno: string) => ({
      rttMs: expect.any(Number) as number,
      size: 0,
      ttl: null,
      type,
      code,
      error: { code: errno, from: '2001:db8:1::2' },
    });
    for (const pingGroups of ['everybody', 'nobody'] as const) {
      const way = pingGroups === 'everybody' ? 'ping' : 'raw';
      expect(await inNamespace({ ...network, pingGroups })).toEqual([
        { way, replies: [{ ...answered, ttl: 64, type: 129 }] },
        { way, replies: [failed(1, 0, 'ENETUNREACH')] },
        { way, replies: [failed(3, 0, 'EHOSTUNREACH')] },
      ]);
    }
  });
});
