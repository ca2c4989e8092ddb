import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../src/errors.ts';
import type { Outcome } from '../../src/executors/interface/executor.ts';
import type { Network } from '../../src/executors/interface/network.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { executeTraceroute } from '../../src/executors/traceroute.ts';
import { withoutScripts } from '../../src/executors/without-scripts.ts';
import { loadNative } from '../../src/native/native.ts';
import { startDnsServer, type TestDnsServer } from '../helpers/network/dns-server.ts';
import { hasIpv6Loopback } from '../helpers/machine.ts';
import { closedPort } from '../helpers/network/closed-port.ts';
import { traceJob, type Request } from './traceroute/trace-lab.ts';

/** TRACEROUTE checks over loopback, whose route has one hop. test/executors/traceroute has longer ones. */

let folder: string;
let names: TestDnsServer;
let network: Network;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'trace-test-'));
  names = await startDnsServer({
    answer: (query) =>
      query.name === '5.0.0.127.in-addr.arpa'
        ? query.reply([{ type: 'PTR', name: query.name, data: 'own.example', ttl: 60 }])
        : query.reply([], { rcode: 3 }),
  });
  writeFileSync(join(folder, 'hosts'), '127.0.0.5 target.test\n');
  writeFileSync(join(folder, 'resolv.conf'), `nameserver [127.0.0.1]:${names.port}\n`);
  network = {
    ...createNetwork({
      useOsDnsResolver: false,
      hostsFile: join(folder, 'hosts'),
      resolvConfFile: join(folder, 'resolv.conf'),
    }),
    originOf: (address) => (address.startsWith('127.') ? { asn: 64_500, organization: 'Own Net' } : null),
  };
});
afterAll(async () => {
  network.close();
  await names.close();
  rmSync(folder, { recursive: true });
});

const trace = (
  request: Partial<Request> & { url: string },
  signal = new AbortController().signal,
): Promise<Outcome> =>
  executeTraceroute(traceJob(request), {
    ...withoutScripts,
    signal,
    network,
    log: () => undefined,
    now: Date.now,
  });

type Assertion = Request['assertions'][number];
const assertion = (
  source: Assertion['source'],
  comparison: Assertion['comparison'],
  target: string,
  property = '',
): Assertion => ({ source, comparison, target, property, regex: null });

describe.skipIf(loadNative() === null)('over loopback', () => {
  test('passes, with names, AS numbers and figures', async () => {
    const port = await closedPort();
    const outcome = await trace({ url: 'target.test', port, ptrLookup: true });
    expect(outcome).toMatchObject({
      base: { ok: true },
      assertions: [],
      details: {
        hostname: 'target.test',
        protocol: 'TCP',
        port,
        resolvedIp: '127.0.0.5',
        ipFamily: 'IPv4',
        source: 'hosts',
        way: 'tcp',
        totalHops: 1,
        destinationReached: true,
        truncationReason: 'destinationReached',
        packetLoss: 0,
        requestError: null,
        traceroute: {
          way: 'tcp',
          reached: true,
          hops: [
            {
              hop: 1,
              address: '127.0.0.5',
              name: 'own.example',
              asn: 64_500,
              asOrganization: 'Own Net',
              sent: 3,
              lossPercent: 0,
            },
          ],
        },
      },
    });
    const { timings, responseTime } = outcome;
    expect(responseTime).toBeGreaterThan(0);
    expect((timings?.dns ?? 0) + (timings?.remainder ?? 0)).toBeCloseTo(timings?.total ?? 0, 6);
  });

  test.skipIf(!hasIpv6Loopback)('passes by IPv6, UDP and without names', async () => {
    const outcome = await trace({ url: '[::1]', protocol: 'UDP', queries: 1 });
    expect(outcome).toMatchObject({
      base: { ok: true },
      details: { port: 33_434, ipFamily: 'IPv6', traceroute: { hops: [{ address: '::1', sent: 1 }] } },
    });
  });

  test('assertions see hop count, loss, times and the routers', async () => {
    const { assertions } = await trace({
      url: 'target.test',
      port: await closedPort(),
      ptrLookup: true,
      assertions: [
        assertion('HOP_COUNT', 'EQUALS', '1'),
        assertion('HOP_COUNT', 'GREATER_THAN', '1'),
        assertion('PACKET_LOSS', 'LESS_THAN', '1'),
        assertion('RESPONSE_TIME', 'LESS_THAN', '1000', 'max'),
        assertion('RESPONSE_TIME', 'LESS_THAN', '0', 'avg'),
        assertion('RESPONSE_TIME', 'LESS_THAN', '1', 'median'),
        assertion('HOP', 'CONTAINS', '127.0.0.5'),
        assertion('HOP', 'CONTAINS', 'own.example', 'name'),
        assertion('HOP', 'CONTAINS', 'AS64500', 'asn'),
        assertion('HOP', 'NOT_CONTAINS', 'AS64500', 'asn'),
        assertion('HOP', 'NOT_CONTAINS', '192.0.2.1', 'address'),
        assertion('HOP', 'CONTAINS', '127.0.0', 'address'),
        assertion('JSON_RESPONSE', 'EQUALS', '127.0.0.5', '$.hops[0].address'),
      ],
    });
    const failed = assertions.map(({ error }) => error !== null);
    expect(failed).toEqual([
      false,
      true,
      false,
      false,
      true,
      true,
      false,
      false,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(assertions[1]?.error).toBe('expected hop count to be greater than "1", but was 1');
    expect(assertions[9]?.error).toBe(
      'expected the asn of the hops not to contain "AS64500", but was ["AS64500"]',
    );
  });

  test('an unknown host and an address of the other family fail', async () => {
    expect(await trace({ url: 'unknown.test' })).toMatchObject({
      base: { ok: false, reason: { code: 'ENOTFOUND', owner: 'target' } },
      details: {
        hostname: 'unknown.test',
        resolvedIp: null,
        requestError: expect.any(String) as string,
      },
    });
    expect(await trace({ url: '127.0.0.1', ipFamily: 'IPv6' })).toMatchObject({
      base: { reason: { code: 'ERR_INVALID_IP_ADDRESS' } },
    });
  });

  test('the deadline fails it, and a cancelled attempt rejects', async () => {
    const late = AbortSignal.abort(new JobAborted('deadline'));
    expect(await trace({ url: '127.0.0.1' }, late)).toMatchObject({
      base: { reason: { code: 'TIMEOUT' } },
      details: { truncationReason: null },
    });
    const cancelled = new JobAborted('cancelled');
    await expect(trace({ url: '127.0.0.1' }, AbortSignal.abort(cancelled))).rejects.toBe(cancelled);
    const controller = new AbortController();
    const pending = trace({ url: '127.0.0.1', port: 1, queries: 10 }, controller.signal);
    setTimeout(() => controller.abort(cancelled), 50);
    await expect(pending).rejects.toBe(cancelled);
  });
});
