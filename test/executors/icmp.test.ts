import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentError, JobAborted } from '../../src/errors.ts';
import type { ExecutionContext, Outcome } from '../../src/executors/interface/executor.ts';
import { createIcmpExecutor } from '../../src/executors/icmp.ts';
import { openPingSocket } from '../../src/executors/icmp/ping-socket-open.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { withoutScripts } from '../../src/executors/without-scripts.ts';
import type { Assertion } from '../../src/protocol/assertions.ts';
import type { JobOf } from '../../src/protocol/job.ts';
import { canUseNamespaces, compileChild, inNamespace } from './icmp/ping-namespace.ts';
import { jobFields } from '../helpers/job-fields.ts';
import { hasIpv6Loopback } from '../helpers/machine.ts';

type Fields = Partial<JobOf<'ICMP'>['request']> & { degraded?: number; max?: number };

function job({ degraded = 10, max = 20, ...request }: Fields = {}): JobOf<'ICMP'> {
  return {
    ...jobFields,
    lane: 'uptime',
    checkType: 'ICMP',
    request: { hostname: '127.0.0.1', ipFamily: 'IPv4', pingCount: 3, assertions: [], ...request },
    degradedPacketLossThreshold: degraded,
    maxPacketLossThreshold: max,
  };
}

const network = createNetwork({ useOsDnsResolver: false });
afterAll(() => network.close());

const context = (fields: Partial<ExecutionContext> = {}): ExecutionContext => ({
  signal: new AbortController().signal,
  log: () => undefined,
  ...withoutScripts,
  network,
  now: () => 0,
  ...fields,
});

/** A timer may end almost a millisecond early: two waits take more than 19 ms. */
const execute = createIcmpExecutor({ intervalMs: 11 });
const ms = expect.any(Number) as number;

const available = await openPingSocket(4).then(
  (socket) => {
    socket.close();
    return true;
  },
  () => false,
);

describe.skipIf(!available)('executeIcmp on loopback', () => {
  const addresses = [
    ['127.0.0.1', 'IPv4', 0],
    ['::1', 'IPv6', 129],
    ['[::1]', 'IPv6', 129],
  ] as const;
  it.each(addresses.filter(([, family]) => family === 'IPv4' || hasIpv6Loopback))(
    'reports every ping of %s',
    async (hostname, ipFamily, type) => {
      const outcome = await execute(job({ hostname, ipFamily }), context());
      const resolvedIp = hostname.replaceAll(/[[\]]/g, '');
      expect(outcome).toEqual({
        base: { ok: true },
        responseTime: ms,
        timings: { remainder: ms, total: ms },
        assertions: [],
        details: {
          hostname,
          resolvedIp,
          ipFamily,
          pingCount: 3,
          packetsSent: 3,
          packetsReceived: 3,
          packetSize: 64,
          packetLoss: 0,
          dnsResolutionTime: 0,
          latency: { avg: ms, min: ms, max: ms, stdDev: ms },
          pingResults: [0, 1, 2].map((sequence) => ({
            sequence,
            type,
            code: 0,
            success: true,
            rtt: ms,
            ttl: 64,
          })),
          ipFallback: false,
          source: 'literal',
          way: expect.stringMatching(/^(?:ping|raw)$/) as string,
          text: expect.any(String) as string,
        },
      } satisfies Outcome);
      const { latency, pingResults, text } = outcome.details as {
        latency: Record<'avg' | 'min' | 'max' | 'stdDev', number>;
        pingResults: { rtt: number }[];
        text: string;
      };
      const rtts = pingResults.map(({ rtt }) => rtt);
      const avg = rtts.reduce((sum, rtt) => sum + rtt, 0) / 3;
      expect(outcome.responseTime).toBe(latency.avg);
      expect(latency.avg).toBeCloseTo(avg, 2);
      expect([latency.min, latency.max]).toEqual([Math.min(...rtts), Math.max(...rtts)]);
      const variance = rtts.reduce((sum, rtt) => sum + (rtt - avg) ** 2, 0) / 3;
      expect(latency.stdDev).toBeCloseTo(Math.sqrt(variance), 2);
      expect(outcome.timings?.total).toBeGreaterThan(19);
      const lines = rtts.map(
        (rtt, index) => `64 bytes from ${resolvedIp}: icmp_seq=${index} ttl=64 time=${rtt} ms`,
      );
      expect(text.split('\n')).toEqual([
        `PING ${hostname} (${resolvedIp}): 56 data bytes`,
        ...lines,
        '',
        `--- ${hostname} ping statistics ---`,
        '3 packets transmitted, 3 received, 0% packet loss',
        `rtt min/avg/max/stddev = ${latency.min}/${latency.avg}/${latency.max}/${latency.stdDev} ms`,
        '',
      ]);
    },
  );

  it('measures the name lookup separately from the pings', async () => {
    const { timings, details } = await execute(job({ hostname: 'localhost', pingCount: 1 }), context());
    expect(timings).toEqual({ dns: ms, remainder: ms, total: ms });
    expect((timings?.dns ?? 0) + (timings?.remainder ?? 0)).toBeCloseTo(timings?.total ?? Number.NaN, 6);
    expect(details).toMatchObject({ resolvedIp: '127.0.0.1', source: 'hosts', dnsResolutionTime: ms });
  });

  it('without loss never degrades, whatever the limits', async () => {
    expect(await execute(job({ degraded: 0, max: 0, pingCount: 1 }), context())).toMatchObject({
      base: { ok: true },
    });
  });

  it('evaluates its assertions', async () => {
    const assertion = (
      source: Assertion['source'],
      property: string,
      comparison: Assertion['comparison'],
      target = '',
    ) =>
      ({
        source,
        property,
        comparison,
        target,
        regex: null,
      }) as JobOf<'ICMP'>['request']['assertions'][number];
    const { assertions } = await execute(
      job({
        assertions: [
          assertion('LATENCY', 'avg', 'LESS_THAN', '1000'),
          assertion('LATENCY', 'stdDev', 'GREATER_THAN', '1000'),
          assertion('JSON_RESPONSE', '$.packetLoss', 'EQUALS', '0'),
          assertion('JSON_RESPONSE', '$.pingResults[*].success', 'EQUALS', 'true'),
          assertion('JSON_RESPONSE', '$.pingResults.length', 'EQUALS', '3'),
        ],
      }),
      context(),
    );
    expect(assertions.map(({ actual, error }) => ({ actual, error }))).toEqual([
      { actual: ms, error: null },
      {
        actual: ms,
        error: expect.stringMatching(
          /^expected latency stdDev to be greater than "1000", but was /,
        ) as string,
      },
      { actual: 0, error: null },
      { actual: [true, true, true], error: null },
      { actual: 3, error: null },
    ]);
  });

  it('reports a name that does not exist', async () => {
    const outcome = await execute(job({ hostname: 'no..name' }), context());
    expect(outcome).toEqual({
      base: {
        ok: false,
        reason: { code: 'ENOTFOUND', owner: 'target', message: '"no..name" is not a host name' },
      },
      responseTime: 0,
      timings: { dns: ms, remainder: 0, total: ms },
      assertions: [],
      details: { hostname: 'no..name', ipFamily: 'IPv4', pingCount: 3 },
    });
  });

  it('refuses an address of the other family', async () => {
    expect(await execute(job({ hostname: '::1' }), context())).toMatchObject({
      base: { ok: false, reason: { code: 'ERR_INVALID_IP_ADDRESS', owner: 'target' } },
    });
  });

  it('returns the replies so far at its deadline', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new JobAborted('deadline')), 150);
    const slow = createIcmpExecutor({ intervalMs: 100 });
    const outcome = await slow(job({ pingCount: 50 }), context({ signal: controller.signal }));
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'TIMEOUT',
        owner: 'target',
        message: expect.stringMatching(
          /^the time ran out after \d of 50 pings, \d of them answered$/,
        ) as string,
      },
    });
    expect(outcome.assertions).toEqual([]);
    // Its own clock begins a little after the one of the deadline.
    expect(outcome.timings?.total).toBeGreaterThan(100);
  });

  it.each(['cancelled', 'shutdown', 'lease-lost'] as const)('rejects when it is %s', async (code) => {
    const controller = new AbortController();
    const reason = new JobAborted(code);
    setTimeout(() => controller.abort(reason), 20);
    const running = execute(job({ pingCount: 50 }), context({ signal: controller.signal }));
    await expect(running).rejects.toBe(reason);
  });

  it('rejects when this host may not ping', async () => {
    const refusing = createNetwork({
      useOsDnsResolver: false,
      openPingSocket: () => Promise.reject(new AgentError('ICMP_UNAVAILABLE', 'not allowed')),
    });
    await expect(execute(job(), context({ network: refusing }))).rejects.toEqual(
      new AgentError('ICMP_UNAVAILABLE', 'not allowed'),
    );
    refusing.close();
  });

  it('runs hundreds of checks over one socket', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        execute(job({ hostname: `127.0.${index >> 8}.${index & 255 || 1}`, pingCount: 5 }), context()),
      ),
    );
    const received = outcomes.map(({ details }) => details['packetsReceived']);
    expect(received).toEqual(Array.from({ length: 300 }, () => 5));
  });
});

describe.skipIf(!canUseNamespaces)('executeIcmp in a network of its own', () => {
  const child: { current: ReturnType<typeof compileChild> | null } = { current: null };
  beforeAll(() => {
    child.current = compileChild();
  });
  afterAll(() => child.current?.remove());
  const folder = (): string => child.current?.withAddon ?? '';
  /** 10.9.0.x behind a link without a listener: packets are dropped silently. */
  const silence = [
    'ip link add near type veth peer name far; ip link set near up; ip link set far up',
    'ip addr add 10.9.0.100/24 dev near',
    'for i in 1 2; do ip neigh add 10.9.0.$i lladdr 02:00:00:00:00:0$i dev near nud permanent; done',
  ].join('\n');

  it('grades packet loss by the limits of the job', async () => {
    const run = (fields: Fields) =>
      ({
        kind: 'job',
        job: job({ hostname: '10.9.0.1', pingCount: 4, ...fields }),
        intervalMs: 800,
        timeoutMs: 700,
      }) as const;
    const results = await inNamespace({
      folder: folder(),
      prepare: silence,
      orders: [
        run({ degraded: 10, max: 50 }),
        run({ degraded: 50, max: 51 }),
        run({ degraded: 51, max: 100 }),
        // Between the second and the third ping the address becomes this host's own.
        { kind: 'shell', afterMs: 1200, command: 'ip addr add 10.9.0.1/32 dev lo' },
      ],
    });
    const message = (limit: number) => `packet loss 50% (2 of 4 pings) is at or over the limit of ${limit}%`;
    const reason = (limit: number) => ({ code: 'PACKET_LOSS', owner: 'target', message: message(limit) });
    const outcomes = results.slice(0, 3) as Outcome[]; // what the child's executor returned
    expect(outcomes.map(({ base }) => base)).toEqual([
      { ok: false, reason: reason(50) },
      { ok: true, degraded: reason(50) },
      { ok: true },
    ]);
    expect(outcomes[0]?.details).toMatchObject({ packetsSent: 4, packetsReceived: 2, packetLoss: 50 });
    const lost = { type: null, code: null, success: false, rtt: null, ttl: null };
    const came = { type: 0, code: 0, success: true, rtt: ms, ttl: 64 };
    expect(outcomes[0]?.details['pingResults']).toEqual([
      { sequence: 0, ...lost },
      { sequence: 1, ...lost },
      { sequence: 2, ...came },
      { sequence: 3, ...came },
    ]);
    expect(String(outcomes[0]?.details['text']).split('\n').slice(1, 3)).toEqual([
      'no answer: icmp_seq=0',
      'no answer: icmp_seq=1',
    ]);
  });

  it('distinguishes silence from returned errors', async () => {
    const run = (hostname: string, ipFamily: 'IPv4' | 'IPv6' = 'IPv4') =>
      ({
        kind: 'job',
        job: job({ hostname, ipFamily, pingCount: 2, assertions: [] }),
        intervalMs: 10,
        timeoutMs: 300,
      }) as const;
    const results = await inNamespace({
      folder: folder(),
      prepare: [
        silence,
        'ip route add unreachable 10.5.0.0/16; ip route add prohibit 10.6.0.0/16',
        'ip -6 route add unreachable 2001:db8::/32',
      ].join('\n'),
      orders: [
        run('10.9.0.2'),
        run('10.5.0.1'),
        run('10.6.0.1'),
        run('192.0.2.1'),
        run('2001:db8::1', 'IPv6'),
        run('fe80::1%gone', 'IPv6'),
      ],
    });
    const codes = (results as Outcome[]).map(({ base }) => (base.ok ? null : base.reason.code)); // as above
    expect(codes).toEqual([
      'PACKET_LOSS',
      'EHOSTUNREACH',
      'EACCES',
      'ENETUNREACH',
      'EHOSTUNREACH',
      'ERR_INVALID_IP_ADDRESS',
    ]);
    expect(results[0]).toMatchObject({
      responseTime: 0,
      details: { packetLoss: 100, latency: { avg: null, min: null, max: null, stdDev: null } },
    });
    expect(results[1]).toMatchObject({
      base: { ok: false, reason: { message: 'echo request not sent: EHOSTUNREACH', owner: 'target' } },
      details: { text: expect.stringContaining('not sent: icmp_seq=0 EHOSTUNREACH\n') as string },
    });
  });

  it('names the router whose error came back', async () => {
    const [outcome] = await inNamespace({
      folder: folder(),
      router: [
        'ip link set lo up; ip addr add 10.1.0.2/24 dev far; ip link set far up',
        'echo 1 > /proc/sys/net/ipv4/ip_forward',
        'ip route add unreachable 10.2.0.0/16',
      ].join('; '),
      prepare: 'ip addr add 10.1.0.1/24 dev near; ip link set near up; ip route add default via 10.1.0.2',
      orders: [
        { kind: 'job', job: job({ hostname: '10.2.0.1', pingCount: 1 }), intervalMs: 10, timeoutMs: 2000 },
      ],
    });
    expect(outcome).toMatchObject({
      base: {
        ok: false,
        reason: {
          code: 'EHOSTUNREACH',
          owner: 'target',
          message: 'ICMP error from 10.1.0.2: type 3 code 1 (EHOSTUNREACH)',
        },
      },
      details: {
        packetLoss: 100,
        pingResults: [{ sequence: 0, type: 3, code: 1, success: false, rtt: ms, ttl: null }],
        text: expect.stringContaining('from 10.1.0.2: icmp_seq=0 EHOSTUNREACH (type 3 code 1)\n') as string,
      },
    });
  });
});
