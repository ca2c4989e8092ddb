import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canUseNamespaces, compileChild, type ChildFolder } from '../icmp/ping-namespace.ts';
import type { Order } from './trace-child.ts';
import {
  inTraceLab,
  routerOf,
  targetOf,
  traceJob,
  type Request,
  type Topology,
  type Traced,
} from './trace-lab.ts';

/** TRACEROUTE checks in networks of namespaces, whose routes are known. */

let child: ChildFolder;
beforeAll(() => {
  if (canUseNamespaces) child = compileChild(join(import.meta.dirname, 'trace-child.ts'));
}, 60_000);
afterAll(() => (canUseNamespaces ? child.remove() : undefined));

const order = (request: Partial<Request> & { url: string }): Order => ({
  kind: 'job',
  job: traceJob(request),
});
/** A command in the namespace of a router. */
const on = (node: string, command: string): Order => ({
  kind: 'shell',
  command: `nsenter -t $(cat $DIR/${node}) -n sh -ec '${command}'`,
});
const addresses = ({ details }: Traced) => details.traceroute.hops.map(({ address }) => address);
const losses = ({ details }: Traced) => details.traceroute.hops.map(({ lossPercent }) => lossPercent);
const run = (topology: Topology, steps: Order[][], unprivileged = false) =>
  inTraceLab(topology, { folder: child.withAddon, steps, unprivileged });

const protocols = ['TCP', 'UDP', 'ICMP'] as const;
const families = [4, 6] as const;
const silentRouter = (node: string) => `on ${node} '
  iptables -A OUTPUT -p icmp --icmp-type time-exceeded -j DROP
  ip6tables -A OUTPUT -p icmpv6 --icmpv6-type time-exceeded -j DROP'`;

describe.skipIf(!canUseNamespaces)('over known routes', () => {
  const everyWay = protocols.flatMap((protocol) => families.map((family) => ({ protocol, family })));

  test.each([false, true])(
    'finds every router by every protocol and family (unprivileged: %s)',
    async (unprivileged) => {
      const topology = {
        routers: 4,
        prepare: `echo "${unprivileged ? '0 2147483647' : '1 0'}" > /proc/sys/net/ipv4/ping_group_range`,
      };
      const steps = everyWay.map(({ protocol, family }) => [
        order({ protocol, url: targetOf(topology, family) }),
      ]);
      const found = await run(topology, steps, unprivileged);
      for (const [index, { protocol, family }] of everyWay.entries()) {
        const traced = found[index];
        expect(traced, `${protocol} ${family}`).toMatchObject({
          base: { ok: true },
          details: {
            totalHops: 5,
            destinationReached: true,
            truncationReason: 'destinationReached',
            packetLoss: 0,
            way: protocol === 'ICMP' ? (unprivileged ? 'ping' : 'raw') : protocol.toLowerCase(),
          },
        });
        if (traced === undefined) continue;
        const routers = [1, 2, 3, 4].map((number) => routerOf(number, family));
        expect(addresses(traced)).toEqual([...routers, targetOf(topology, family)]);
        expect(traced.details.traceroute.hops.map(({ sent }) => sent)).toEqual([3, 3, 3, 3, 3]);
        expect(traced.responseTime).toBe(traced.details.finalHopLatency.avg);
        expect(traced.responseTime).toBeGreaterThan(0);
      }
    },
    90_000,
  );

  test('silent hops are shown, and do not end the trace', async () => {
    const topology = { routers: 4, prepare: `${silentRouter('r2')}; ${silentRouter('r3')}` };
    const found = await run(topology, [
      everyWay.map(({ protocol, family }) => order({ protocol, url: targetOf(topology, family) })),
    ]);
    for (const [index, { family }] of everyWay.entries()) {
      const traced = found[index];
      if (traced === undefined) throw new Error('no answer');
      expect(addresses(traced)).toEqual([
        routerOf(1, family),
        null,
        null,
        routerOf(4, family),
        targetOf(topology, family),
      ]);
      expect(losses(traced)).toEqual([0, 100, 100, 0, 0]);
      expect(traced.base.ok).toBe(true);
    }
  }, 90_000);

  test('a silent target ends the trace after as many silent hops as the check allows', async () => {
    const topology = { routers: 2, prepare: `on t 'iptables -A INPUT -j DROP'` };
    const url = targetOf(topology);
    const found = await run(topology, [
      [
        order({ url, maxUnknownHops: 4 }),
        order({ url, maxUnknownHops: 20, maxHops: 5 }),
        order({ url, timeout: 1, protocol: 'UDP' }),
        { kind: 'job', job: traceJob({ url, protocol: 'UDP' }), abortAfterMs: 2000 },
      ],
    ]);
    expect(found[0]).toMatchObject({
      base: { ok: false, reason: { code: 'DESTINATION_NOT_REACHED', owner: 'target' } },
      responseTime: 0,
      details: { truncationReason: 'maxUnknownHops', totalHops: 6, destinationReached: false },
    });
    expect(found[0]?.base).toMatchObject({
      reason: { message: expect.stringContaining('4 hops in a row were silent') as unknown },
    });
    expect(found[1]).toMatchObject({
      base: { reason: { code: 'DESTINATION_NOT_REACHED' } },
      details: { truncationReason: 'maxHops', totalHops: 5 },
    });
    expect(found[2]).toMatchObject({
      base: { reason: { code: 'TIMEOUT' } },
      details: { truncationReason: 'timeout', finalHopLatency: { avg: null } },
    });
    expect(found[3]).toMatchObject({ base: { reason: { code: 'TIMEOUT' } }, assertions: [] });
    expect(found[3]?.details.traceroute.hops.length).toBeGreaterThan(1);
  }, 90_000);

  test('loss is counted for the hop that loses probes', async () => {
    const lose = '-m statistic --mode nth --every 2 --packet 0 -j DROP';
    const topology = {
      routers: 3,
      prepare: `on r2 'iptables -A OUTPUT -p icmp --icmp-type time-exceeded ${lose}'
        on t 'iptables -A INPUT -p tcp ${lose}'`,
    };
    const [found] = await run(topology, [
      [
        order({
          url: targetOf(topology),
          queries: 6,
          assertions: [
            { source: 'PACKET_LOSS', property: '', comparison: 'LESS_THAN', target: '20', regex: null },
          ],
        }),
      ],
    ]);
    if (found === undefined) throw new Error('no answer');
    const [first, second, third, last] = losses(found);
    expect([first, third]).toEqual([0, 0]);
    expect(second).toBe(50);
    expect(last).toBeGreaterThanOrEqual(33);
    expect(last).toBeLessThanOrEqual(67);
    expect(found.details.packetLoss).toBe(last);
    expect(found.assertions[0]?.error).toMatch(/expected packet loss to be less than "20", but was/);
  }, 90_000);

  test('a circle is named, and ends the trace early', async () => {
    const topology = {
      routers: 3,
      prepare: `on r2 'ip route replace default via 10.0.2.1; ip -6 route replace default via fd00:2::1'`,
    };
    const found = await run(topology, [
      everyWay.map(({ protocol, family }) => order({ protocol, url: targetOf(topology, family) })),
    ]);
    for (const [index, { family }] of everyWay.entries()) {
      const traced = found[index];
      expect(traced).toMatchObject({
        base: { ok: false, reason: { code: 'ROUTE_LOOP' } },
        details: { truncationReason: 'loop', totalHops: family === 4 ? 5 : 6 },
      });
      // By IPv6, the first router answers from its other side when a packet returns to it.
      const circle =
        family === 4 ? ['10.0.1.2', '10.0.2.2', '10.0.1.2'] : ['fd00:2::2', 'fd00:2::1', 'fd00:2::2'];
      expect(traced?.details.loop).toEqual(circle.slice(0, 2));
      expect(traced?.base).toMatchObject({
        reason: {
          message: `the route to ${targetOf(topology, family)} runs in a circle: ${circle.join(' → ')}`,
        },
      });
    }
  }, 90_000);

  test('a router that refuses to forward is named', async () => {
    const topology = {
      routers: 3,
      prepare: `on r2 'ip route add unreachable 10.0.4.0/24; ip route add prohibit 10.0.7.0/24'`,
    };
    // One after the other: a router limits its answers to a host, and two traces at once share that limit.
    const found = await run(topology, [
      [order({ url: targetOf(topology) })],
      [order({ url: '10.0.7.1', protocol: 'ICMP' })],
    ]);
    expect(found[0]).toMatchObject({
      base: {
        reason: {
          code: 'EHOSTUNREACH',
          message: '10.0.4.2 was not reached: hop 2, 10.0.2.2 reported host unreachable',
        },
      },
      details: { truncationReason: 'unreachable', totalHops: 2 },
    });
    expect(found[1]).toMatchObject({ base: { reason: { code: 'EACCES' } } });
  }, 90_000);

  test('all probes of a trace take one route, where evidence sees both', async () => {
    const topology = { routers: 3, twoWays: true };
    const steps = (['TCP', 'UDP'] as const).flatMap((protocol) =>
      families.map((family) => [order({ protocol, url: targetOf(topology, family), queries: 5 })]),
    );
    const found = await run(topology, [
      ...steps,
      // The second run is the same flow.
      ...steps,
      [
        { kind: 'evidence', target: { address: targetOf(topology), family: 4, port: 443, way: 'tcp' } },
        { kind: 'evidence', target: { address: targetOf(topology, 6), family: 6, port: 443, way: 'tcp' } },
      ],
    ]);
    const traces = found.slice(0, 8);
    for (const traced of traces) {
      expect(traced.base.ok).toBe(true);
      expect(traced.details.traceroute.hops.map(({ others }) => others)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
      expect(traced.details.traceroute.hops[1]?.sent).toBe(5);
    }
    expect(traces.slice(0, 4).map(addresses)).toEqual(traces.slice(4).map(addresses));
    // Flows of different ports do not all take the same route, so that equality above says something.
    const seen = [...traces, ...(found.slice(8) as unknown as { hops: { address: string }[] }[])].flatMap(
      (one) => ('hops' in one ? one.hops.map(({ address }) => address) : addresses(one)),
    );
    expect(seen.filter((address) => address === '10.0.12.2' || address === 'fd00:12::2')).not.toEqual([]);
    expect(seen.filter((address) => address === '10.0.2.2' || address === 'fd00:2::2')).not.toEqual([]);
  }, 120_000);

  test('a changed route is a different list of hops', async () => {
    const topology = { routers: 3, twoWays: true };
    const go = order({ url: targetOf(topology), protocol: 'ICMP' });
    const found = await run(topology, [
      [on('r1', 'ip route replace default via 10.0.2.2')],
      [go],
      [on('r1', 'ip route replace default via 10.0.12.2')],
      [go],
    ]);
    const [, before, , after] = found;
    if (before === undefined || after === undefined) throw new Error('no answer');
    expect(addresses(before)).toEqual(['10.0.1.2', '10.0.2.2', '10.0.3.2', '10.0.4.2']);
    expect(addresses(after)).toEqual(['10.0.1.2', '10.0.12.2', '10.0.3.2', '10.0.4.2']);
  }, 90_000);

  test('a host without a permission or a route says so', async () => {
    const topology = {
      routers: 1,
      prepare: 'echo "1 0" > /proc/sys/net/ipv4/ping_group_range; ip route del default',
    };
    const found = await run(
      topology,
      [
        [
          order({ url: '10.0.1.2', protocol: 'ICMP' }),
          order({ url: '192.0.2.1' }),
          order({ url: '10.0.1.99' }),
        ],
      ],
      true,
    );
    expect(found[0]).toMatchObject({ code: 'ICMP_UNAVAILABLE' });
    expect(found[1]).toMatchObject({ base: { reason: { code: 'ENETUNREACH', owner: 'target' } } });
    // Nobody has the address: the own host reports it after three questions for it.
    expect(found[2]).toMatchObject({ base: { ok: false }, details: { destinationReached: false } });
  }, 90_000);
});
