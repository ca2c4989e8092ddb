import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Result } from '../../../src/protocol/result.ts';
import { canBuildLab, createLab, type Lab } from '../../helpers/network/own-network-lab.ts';

/** Failures of the agent's own network and of targets, in a real network, through the agent's own code. */

const tcp = (hostname: string, more: object = {}) => ({
  checkType: 'TCP',
  request: { hostname, port: 8080, ...more },
});
const url = (address: string, more: object = {}) => ({
  checkType: 'URL',
  request: { url: address },
  ...more,
});

type Own = {
  isAtFault: boolean;
  cause: string | null;
  summary: string;
  evidence: { looked: string; found: string }[];
};
const ownOf = ({ details }: Result) => details['ownNetwork'] as Own | undefined;
const verdict = (result: Result) => [
  result.status,
  result.reason?.code ?? null,
  ownOf(result)?.cause ?? null,
];
const spoiled = (cause: string) => ['errored', 'OWN_NETWORK', cause];

describe.skipIf(!canBuildLab)('in a network that breaks', () => {
  let lab: Lab;
  const all = (checks: Record<string, unknown>[]) => Promise.all(checks.map((check) => lab.run(check)));
  /** Everything passes, so that the agent knows its targets. */
  const learn = async () => {
    const checks = [
      tcp('10.71.2.2'),
      tcp('10.71.2.3'),
      tcp('10.71.3.2'),
      tcp('10.71.5.2'),
      tcp('shop.example'),
    ];
    expect((await all(checks)).map(({ status }) => status)).toEqual(checks.map(() => 'passed'));
  };

  beforeAll(async () => {
    lab = await createLab();
  }, 180_000);
  afterAll(() => lab?.close());
  beforeEach(async () => {
    lab.mend();
    await lab.restart();
    await learn();
  }, 60_000);

  test('while all is well, nothing is examined', async () => {
    expect(await lab.counts()).toMatchObject({ examinations: 0, spoiled: 0, trouble: null });
  });

  test('the link is switched off', async () => {
    lab.sh('agent', 'ip link set near down');
    const results = await all([tcp('10.71.2.2'), tcp('10.71.3.2'), url('http://10.71.2.3:8080/')]);
    expect(results.map(verdict)).toEqual([spoiled('interface'), spoiled('interface'), spoiled('interface')]);
    expect(results[0]).toMatchObject({ hasErrors: true, hasFailures: false, reason: { owner: 'ours' } });
    expect(results[0]?.log.map(({ msg }) => msg).join('\n')).toMatch(
      /own network: interface near: is switched off/,
    );
    // Nobody had to be asked. Each check was repeated once.
    expect(await lab.counts()).toMatchObject({ examinations: 0, spoiled: 6 });
    expect((await lab.counts()).trouble?.summary).toMatch(/near is switched off/);
    // The other interface works.
    expect(verdict(await lab.run(tcp('10.71.5.2')))[0]).toBe('passed');
  }, 60_000);

  test('the other end of the link is gone', async () => {
    lab.sh('gateway', 'ip link set near down');
    const results = await all([tcp('10.71.2.2'), url('http://10.71.3.2:8080/')]);
    expect(results.map(verdict)).toEqual([spoiled('interface'), spoiled('interface')]);
  }, 60_000);

  test('the address is removed', async () => {
    lab.sh('agent', 'ip addr flush dev near; ip link set side down');
    const [first] = await all([tcp('10.71.2.2')]);
    expect(first && verdict(first)).toEqual(spoiled('address'));
  }, 60_000);

  test('the default route is removed, and comes back', async () => {
    lab.sh('agent', 'ip route del default');
    expect((await all([tcp('10.71.2.2'), tcp('10.71.3.2')])).map(verdict)).toEqual([
      spoiled('route'),
      spoiled('route'),
    ]);
    lab.sh('agent', 'ip route add default via 10.71.1.2');
    expect(verdict(await lab.run(tcp('10.71.2.2')))[0]).toBe('passed');
    expect((await lab.counts()).trouble).toBeNull();
  }, 60_000);

  test('the gateway is silent: one examination for all', async () => {
    lab.sh('gateway', 'ip addr del 10.71.1.2/24 dev near');
    lab.sh('agent', 'ip neigh flush dev near');
    const results = await all([
      tcp('10.71.2.2'),
      tcp('10.71.2.3'),
      tcp('10.71.3.2'),
      url('http://10.71.2.2:8080/'),
      { checkType: 'ICMP', request: { hostname: '10.71.2.2', pingCount: 3 } },
      {
        checkType: 'DNS',
        request: { query: 'shop.example', recordType: 'A', nameServer: '10.71.3.53', protocol: 'TCP' },
      },
    ]);
    expect(results.map(({ status, reason }) => [status, reason?.code])).toEqual(
      results.map(() => ['errored', 'OWN_NETWORK']),
    );
    expect(ownOf(results[0]!)?.cause).toBe('gateway');
    expect(ownOf(results[0]!)?.evidence.map(({ looked }) => looked)).toContain('the gateway 10.71.1.2');
    const { examinations } = await lab.counts();
    expect(examinations).toBeGreaterThan(0);
    // The attempts end at different times, one within seconds of the other.
    expect(examinations).toBeLessThan(results.length);
  }, 90_000);

  test('a route of this host swallows packets', async () => {
    lab.sh('agent', 'ip route add blackhole 10.71.2.0/24');
    expect((await all([tcp('10.71.2.2'), tcp('10.71.3.2')])).map(verdict)).toEqual([
      spoiled('rejecting-route'),
      ['passed', null, null],
    ]);
  }, 60_000);

  test('packets vanish behind a living gateway, for all networks', async () => {
    lab.sh('gateway', 'ip route add blackhole 10.71.2.0/25; ip route add blackhole 10.71.3.0/25');
    const results = await all([tcp('10.71.2.2'), tcp('10.71.3.2'), tcp('10.71.2.3')]);
    expect(results.map(verdict)).toEqual([spoiled('swallowed'), spoiled('swallowed'), spoiled('swallowed')]);
  }, 60_000);

  test('a dead network behind a living gateway is its own fault', async () => {
    lab.sh('gateway', 'ip route add blackhole 10.71.2.0/25');
    const [dead, dead2, living] = await all([tcp('10.71.2.2'), tcp('10.71.2.3'), tcp('10.71.3.2')]);
    expect([dead, dead2].map((result) => [result?.status, result?.reason?.owner])).toEqual([
      ['failed', 'target'],
      ['failed', 'target'],
    ]);
    expect(living?.status).toBe('passed');
    expect(dead && ownOf(dead)?.isAtFault).toBe(false);
  }, 60_000);

  test('a single dead target is its own fault', async () => {
    lab.sh('first', 'ip addr del 10.71.2.3/24 dev uplink');
    const [dead, same, other] = await all([tcp('10.71.2.3'), tcp('10.71.2.2'), tcp('10.71.3.2')]);
    expect([dead?.status, dead?.reason?.owner]).toEqual(['failed', 'target']);
    expect([same?.status, other?.status]).toEqual(['passed', 'passed']);
  }, 60_000);

  test('with nothing to compare with, the fault stays with the target, and the result says so', async () => {
    await lab.restart();
    lab.sh('first', 'ip addr del 10.71.2.3/24 dev uplink');
    const dead = await lab.run(tcp('10.71.2.3'));
    expect([dead.status, dead.reason?.owner]).toEqual(['failed', 'target']);
    expect(ownOf(dead)?.summary).toMatch(/nothing to compare with/);
  }, 60_000);

  test('a reference target decides where there is nothing else', async () => {
    await lab.restart({ REFERENCE_TARGETS: '10.71.3.2:8080' });
    lab.sh('gateway', 'ip route add blackhole 10.71.2.0/25; ip route add blackhole 10.71.3.0/25');
    expect(verdict(await lab.run(tcp('10.71.2.2')))).toEqual(spoiled('swallowed'));
    lab.sh('gateway', 'ip route del blackhole 10.71.3.0/25');
    await lab.restart({ REFERENCE_TARGETS: '10.71.3.2:8080' });
    const dead = await lab.run(tcp('10.71.2.2'));
    expect([dead.status, dead.reason?.owner]).toEqual(['failed', 'target']);
    expect(ownOf(dead)?.summary).toMatch(/reference target 10\.71\.3\.2:8080 answers/);
  }, 60_000);

  test('a dead resolver spoils checks by name; a check by address keeps its own verdict', async () => {
    lab.sh('second', 'ip addr del 10.71.3.53/24 dev uplink');
    const [byName, byAddress, query] = await all([
      tcp('shop.example'),
      tcp('10.71.2.2'),
      { checkType: 'DNS', request: { query: 'shop.example', recordType: 'A', protocol: 'TCP' } },
    ]);
    expect(byName && verdict(byName)).toEqual(spoiled('resolver'));
    expect(byAddress && verdict(byAddress)).toEqual(['passed', null, null]);
    expect(query && verdict(query)).toEqual(spoiled('resolver'));
  }, 90_000);

  test('a resolver that never worked is not ours, unless the name of a reference says so', async () => {
    lab.sh('second', 'ip addr del 10.71.3.53/24 dev uplink');
    await lab.restart();
    const alone = await lab.run(tcp('shop.example'));
    expect([alone.status, alone.reason?.owner]).toEqual(['failed', 'target']);
    expect(ownOf(alone)?.summary).toMatch(/none has since this agent started/);
    expect(ownOf(alone)?.evidence).toContainEqual({
      looked: 'name server 10.71.3.53',
      found: 'does not answer',
    });
    await lab.restart({ REFERENCE_TARGETS: 'reference.example:8080' });
    expect(verdict(await lab.run(tcp('shop.example')))).toEqual(spoiled('resolver'));
  }, 90_000);

  test('one of two interfaces fails', async () => {
    lab.sh('agent', 'ip link set side down');
    const [dead, living] = await all([tcp('10.71.5.2'), tcp('10.71.2.2')]);
    expect(dead && verdict(dead)).toEqual(spoiled('interface'));
    expect(living?.status).toBe('passed');
  }, 60_000);

  test("a proxy that does not answer is the location's", async () => {
    const through = { proxyUrl: 'http://10.71.3.2:3128' };
    lab.sh('gateway', 'ip route add blackhole 10.71.3.2/32');
    expect(verdict(await lab.run(url('http://10.71.2.2:8080/', through)))).toEqual(spoiled('proxy'));
  }, 60_000);

  test('IPv6 only: the gateway is gone', async () => {
    lab.sh('agent', 'ip -4 addr flush dev near; ip -4 addr flush dev side');
    await lab.restart();
    const six = { ipFamily: 'IPv6' };
    expect((await lab.run(tcp('fd71:2::2', six))).status).toBe('passed');
    expect((await lab.run(tcp('fd71:3::2', six))).status).toBe('passed');
    // The host has no IPv4, which is not a failure of its network.
    expect((await lab.run(tcp('10.71.2.2'))).reason?.owner).toBe('target');
    lab.sh('gateway', 'ip -6 addr del fd71:1::2/64 dev near');
    lab.sh('agent', 'ip -6 neigh flush dev near');
    expect(verdict(await lab.run(tcp('fd71:2::2', six)))).toEqual(spoiled('gateway'));
    // Without any other target to compare with, the missing neighbour alone decides.
    await lab.restart();
    const alone = await lab.run(tcp('fd71:2::2', six));
    expect(verdict(alone)).toEqual(spoiled('gateway'));
    expect(ownOf(alone)?.summary).toBe('the gateway fd71:1::2 is not on the network');
  }, 60_000);

  test('an expected failure does not pass because of the own network, and retries go on', async () => {
    lab.sh('agent', 'ip route del default');
    const results = await lab.attempts({
      ...tcp('10.71.2.2'),
      shouldFail: true,
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 },
    });
    expect(results.map((result) => [result.resultType, ...verdict(result)])).toEqual([
      ['ATTEMPT', ...spoiled('route')],
      ['FINAL', ...spoiled('route')],
    ]);
  }, 60_000);
});
