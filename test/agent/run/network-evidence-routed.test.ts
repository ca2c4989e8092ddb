import { beforeAll, describe, expect, test } from 'vitest';
import { describeNetwork } from '../../../src/service/analyses/network-evidence.ts';
import { readPcap } from '../../helpers/network/pcap.ts';
import { canRouteHere, runRouted, type RoutedResult } from '../../helpers/network/routed-network.ts';

/** Failures of a real network, through the daemon's own code: the traceroute and the packets in results. */

const secret = 'Bearer very-secret-token';
const again = { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 };
const url = (address: string, more: object = {}) => ({
  checkType: 'URL',
  request: { url: `http://${address}/`, ...more },
  retryStrategy: again,
});

/** Reads what a client says and resets the connection. */
const resetting = `
  const server = require('net').createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.resetAndDestroy());
  });
  server.listen(8080, '::', () => console.log('listening'));`;

describe.skipIf(!canRouteHere)('failures over two routers', () => {
  type Name =
    | 'refused'
    | 'refused6'
    | 'reset'
    | 'hole'
    | 'unreachable'
    | 'unresolved'
    | 'unprivileged'
    | 'once'
    | 'ssl'
    | 'grpc';
  let ran: { readonly [N in Name]: RoutedResult };
  const detailsOf = (name: Name) =>
    ran[name].result.details as { traceroute: unknown; packetCapture?: Record<string, unknown> }; // as asserted below
  const packetsOf = (name: Name) => {
    const [file] = Object.values(ran[name].artifacts);
    expect(file).toBeDefined();
    return readPcap(file ?? Buffer.alloc(0)).packets;
  };

  beforeAll(async () => {
    ran = await runRouted<Name>(
      {
        refused: { check: url('10.3.0.2:81') },
        refused6: { check: url('[fd03::2]:81', { ipFamily: 'IPv6' }) },
        reset: {
          check: {
            ...url('10.3.0.2:8080'),
            checkType: 'API',
            request: {
              url: 'http://10.3.0.2:8080/path?key=very-secret-key',
              method: 'POST',
              bodyType: 'RAW',
              body: 'very-secret-body',
              headers: [{ key: 'Authorization', value: secret }],
            },
          },
        },
        hole: {
          check: { checkType: 'TCP', request: { hostname: '10.4.0.1', port: 82 }, retryStrategy: again },
        },
        unreachable: { check: url('10.5.0.1:83') },
        unresolved: { check: url('shop.example') },
        unprivileged: { check: url('10.3.0.2:84'), unprivileged: true },
        ssl: {
          check: {
            checkType: 'SSL',
            request: { sslConfig: { hostname: '10.3.0.2', port: 86 } },
            retryStrategy: again,
          },
        },
        grpc: {
          check: {
            checkType: 'GRPC',
            request: { url: '10.3.0.2', port: 87, grpcConfig: { mode: 'HEALTH', tls: false } },
            retryStrategy: again,
          },
        },
        once: { check: { ...url('10.3.0.2:85'), retryStrategy: null, doubleCheck: false } },
      },
      { nameServer: '10.3.0.2', targetProgram: resetting },
    );
  }, 180_000);

  const answered = (hop: number, address: string) =>
    expect.objectContaining({
      hop,
      address,
      bestMs: expect.any(Number) as number,
      avgMs: expect.any(Number) as number,
      worstMs: expect.any(Number) as number,
      stddevMs: expect.any(Number) as number,
    }) as object;
  const silent = (hop: number) =>
    expect.objectContaining({ hop, address: null, lossPercent: 100, avgMs: null }) as object;

  test('a port that refuses: the whole way, with a hop that does not answer, and the packets of the second attempt', () => {
    const { result } = ran.refused;
    expect(result).toMatchObject({ status: 'failed', attempt: 2, reason: { code: 'ECONNREFUSED' } });
    expect(detailsOf('refused').traceroute).toMatchObject({
      way: 'tcp',
      address: '10.3.0.2',
      port: 81,
      reached: true,
      hops: [answered(1, '10.1.0.2'), silent(2), answered(3, '10.3.0.2')],
    });
    expect(detailsOf('refused').packetCapture).toMatchObject({
      packets: 2,
      syn: 1,
      resets: 1,
      summary: '2 packets: 1 SYN, none of them accepted, 1 reset',
      artifact: 'packets.pcap',
    });
    expect(result.artifacts).toEqual([
      {
        name: '2-packets.pcap',
        type: 'pcap',
        size: 24 + 2 * 16 + 100,
        state: 'stored',
        url: expect.any(String),
      },
    ]);
    expect(packetsOf('refused').map(({ bytes }) => bytes.toString('hex', 12, 20))).toEqual([
      '0a0100010a030002',
      '0a0300020a010001',
    ]);
  });

  test.each([
    ['ssl', 86],
    ['grpc', 87],
  ] as const)('a check of the type %s has the same evidence', (name, port) => {
    expect(ran[name].result).toMatchObject({
      status: 'failed',
      attempt: 2,
      reason: { code: 'ECONNREFUSED' },
    });
    expect(detailsOf(name).traceroute).toMatchObject({
      way: 'tcp',
      address: '10.3.0.2',
      port,
      reached: true,
      hops: [answered(1, '10.1.0.2'), silent(2), answered(3, '10.3.0.2')],
    });
    expect(detailsOf(name).packetCapture).toMatchObject({ packets: 2, syn: 1, resets: 1 });
    expect(packetsOf(name)).toHaveLength(2);
  });

  test('the trace begins when the attempt has ended, and lasts seconds at most', () => {
    const { startedAt, stoppedAt, responseTime } = ran.refused.result;
    const { durationMs, startedAt: tracedAt } = detailsOf('refused').traceroute as {
      durationMs: number;
      startedAt: string;
    };
    expect(Date.parse(tracedAt)).toBeGreaterThanOrEqual(Date.parse(stoppedAt));
    // The attempt contains only the measured time.
    expect(responseTime).toBeLessThanOrEqual(Date.parse(stoppedAt) - Date.parse(startedAt) + 2);
    // A hop that is silent is waited for in each round.
    expect(durationMs).toBeGreaterThan(1500);
    expect(durationMs).toBeLessThan(10_000);
  });

  test('the same over IPv6', () => {
    expect(ran.refused6.result.reason?.code).toBe('ECONNREFUSED');
    expect(detailsOf('refused6').traceroute).toMatchObject({
      family: 6,
      reached: true,
      hops: [answered(1, 'fd01::2'), silent(2), answered(3, 'fd03::2')],
    });
    expect(detailsOf('refused6').packetCapture).toMatchObject({ syn: 1, resets: 1 });
  });

  test('a reset connection: the packets contain no payload', () => {
    expect(ran.reset.result.reason?.code).toMatch(/ECONNRESET|CONNECTION_CLOSED/);
    expect(detailsOf('reset').traceroute).toMatchObject({ reached: true });
    const { packetCapture } = detailsOf('reset');
    expect(packetCapture).toMatchObject({ syn: 1, synAck: 1, dnsQueries: 0 });
    expect(packetCapture?.['resets']).toBeGreaterThan(0);
    const packets = packetsOf('reset');
    for (const { bytes } of packets) expect(bytes.length).toBe(20 + ((bytes[32] ?? 0) >> 4) * 4);
    // The request was on the wire.
    expect(packets.some(({ length, bytes }) => length > bytes.length + secret.length)).toBe(true);
    const whole = Object.values(ran.reset.artifacts)[0]?.toString('latin1') ?? '';
    expect(whole).not.toMatch(/very-secret|POST|Authorization/i);
  });

  test('packets that are dropped without a word: how far they came, and SYNs that were sent again', () => {
    expect(ran.hole.result.reason?.code).toBe('ETIMEDOUT');
    expect(detailsOf('hole').traceroute).toMatchObject({
      reached: false,
      hops: [answered(1, '10.1.0.2'), silent(2), silent(3), silent(4), silent(5), silent(6)],
    });
    const { packetCapture } = detailsOf('hole');
    expect(packetCapture).toMatchObject({ synAck: 0, resets: 0, icmpUnreachable: 0 });
    const { syn, packets, retransmissions } = packetCapture as { [name: string]: number };
    expect(syn).toBeGreaterThan(1);
    expect([packets, retransmissions]).toEqual([syn, (syn ?? 0) - 1]);
  });

  test('the service’s analyses find both', () => {
    expect(describeNetwork(ran.hole.result.details)).toEqual([
      'On the path to the target, hop 1 (10.1.0.2) was the last hop that answered; none of the 5 beyond did.',
      expect.stringMatching(
        /^Captured packets: \d packets: \d SYNs, none of them accepted, \d retransmissions?/,
      ),
    ]);
    expect(describeNetwork(ran.unprivileged.result.details)).toEqual([
      'The traceroute to the target has 3 hops, ending at 10.3.0.2.',
    ]);
  });

  test('a router that rejects the probes is named with its reason', () => {
    expect(ran.unreachable.result.reason?.code).toBe('EHOSTUNREACH');
    expect(detailsOf('unreachable').traceroute).toMatchObject({
      reached: false,
      hops: [{ hop: 1, address: '10.1.0.2', error: 'host unreachable' }],
    });
    expect(detailsOf('unreachable').packetCapture).toMatchObject({ packets: 2, syn: 1, icmpUnreachable: 1 });
  });

  test('an unanswered name: the traceroute to the name server, and the queries', () => {
    // The only name server is silent, but has not answered before either, so this host is not known to be at fault.
    expect(ran.unresolved.result).toMatchObject({
      status: 'failed',
      reason: { code: 'EAI_AGAIN' },
      details: { ownNetwork: { isAtFault: false, summary: expect.stringContaining('none has since') } },
    });
    expect(detailsOf('unresolved').traceroute).toMatchObject({
      way: 'udp',
      address: '10.3.0.2',
      port: 53,
      reached: true,
      hops: [answered(1, '10.1.0.2'), silent(2), answered(3, '10.3.0.2')],
    });
    const { packetCapture } = detailsOf('unresolved');
    expect(packetCapture?.['dnsQueries']).toBeGreaterThan(0);
    expect(packetCapture?.['dnsAnswers']).toBe(0);
    expect(packetsOf('unresolved').some(({ bytes }) => bytes.includes('\u0004shop\u0007example'))).toBe(true);
  });

  test('without NET_RAW there is a trace all the same, and the reason why there are no packets', () => {
    expect(detailsOf('unprivileged').traceroute).toMatchObject({
      reached: true,
      hops: [answered(1, '10.1.0.2'), silent(2), answered(3, '10.3.0.2')],
    });
    expect(detailsOf('unprivileged').packetCapture).toEqual({
      unavailable: expect.stringMatching(/NET_RAW.*EPERM/) as string,
    });
    expect(ran.unprivileged.result.artifacts).toEqual([]);
  });

  test('a first failure has only the traceroute, because capturing starts after a failure', () => {
    expect(ran.once.result.attempt).toBe(1);
    expect(detailsOf('once').traceroute).toMatchObject({ reached: true });
    expect(detailsOf('once').packetCapture).toBeUndefined();
  });
});
