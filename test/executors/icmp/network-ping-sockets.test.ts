import { describe, expect, test } from 'vitest';
import { AgentError } from '../../../src/errors.ts';
import type { IpFamily } from '../../../src/executors/interface/network.ts';
import type { PingSocket } from '../../../src/executors/interface/ping-socket.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';

/** The ping sockets of a network: opened when they are first needed, closed with it. */

describe('ping sockets', () => {
  const socketOf = (closed: IpFamily[], family: IpFamily): PingSocket => ({
    way: 'ping',
    echo: async () => null,
    echoHops: async () => [],
    close: () => closed.push(family),
  });

  test('are opened once per family and closed with the network', async () => {
    const opened: IpFamily[] = [];
    const closed: IpFamily[] = [];
    const from = createNetwork({
      useOsDnsResolver: false,
      openPingSocket: async (family) => {
        opened.push(family);
        return socketOf(closed, family);
      },
    });
    const [first, second] = await Promise.all([from.icmp(4), from.icmp(4)]);
    expect(first).toBe(second);
    await from.icmp(6);
    expect(opened).toEqual([4, 6]);
    from.close();
    await new Promise((done) => setImmediate(done));
    expect(closed).toEqual([4, 6]);
    await expect(from.icmp(4)).rejects.toMatchObject({ code: 'NETWORK_UNAVAILABLE' });
  });

  test('are opened once for each source and manner', async () => {
    const opened: unknown[] = [];
    const from = createNetwork({
      useOsDnsResolver: false,
      openPingSocket: async (family, options) => {
        opened.push(options);
        return socketOf([], family);
      },
    });
    const one = { source: '192.0.2.1' };
    const sockets = await Promise.all([from.icmp(4), from.icmp(4, one), from.icmp(4, one)]);
    expect(sockets[1]).toBe(sockets[2]);
    expect(sockets[0]).not.toBe(sockets[1]);
    await from.icmp(4, { ...one, whole: true });
    expect(opened).toEqual([{}, one, { ...one, whole: true }]);
    from.close();
  });

  test('a refusal is not kept', async () => {
    let granted = false;
    const from = createNetwork({
      useOsDnsResolver: false,
      openPingSocket: async (family) => {
        if (!granted) throw new AgentError('ICMP_UNAVAILABLE', 'grant it');
        return socketOf([], family);
      },
    });
    await expect(from.icmp(4)).rejects.toMatchObject({ code: 'ICMP_UNAVAILABLE' });
    granted = true;
    expect((await from.icmp(4)).way).toBe('ping');
  });
});
