import { describe, expect, test } from 'vitest';
import { judgeByAnswers } from '../../../src/agent/own-network/compare.ts';
import type { EndpointProbe, Failure, LocalFacts, Probes } from '../../../src/agent/own-network/facts.ts';
import { scriptSuspicion } from '../../../src/agent/own-network/failures.ts';
import { parseNeighbours, parseNeighbours6, type HostState } from '../../../src/agent/own-network/host.ts';
import { parseIpv4Routes, parseIpv6Routes, routeTo } from '../../../src/agent/own-network/routes.ts';
import { judgeLocally } from '../../../src/agent/own-network/rules.ts';
import { createTroubles } from '../../../src/agent/own-network/troubles.ts';
import { referenceTargets } from '../../../src/config/reference-targets.ts';
import { reasonOf } from '../../../src/protocol/reasons.ts';

/** The rules of the verdict, without a network. */

const routes =
  parseIpv4Routes(`Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
*\t0000630A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0
`);
const eth0 = { name: 'eth0', isLoopback: false, down: null, addresses: ['10.0.0.5'] };
const host: HostState = { routes, interfaces: [eth0], neighbours: new Map([['10.0.0.1', true]]) };
const facts = (more: Partial<LocalFacts> = {}): LocalFacts => ({
  host,
  baseline: host,
  kernel: { source: '10.0.0.5' },
  usedFamilies: new Set([4]),
  resolverHasWorked: true,
  ...more,
});
const failure = (more: Partial<Failure> = {}): Failure => ({
  step: 'connection',
  hostname: null,
  address: '10.1.0.1',
  port: 80,
  viaProxy: false,
  lostName: false,
  startedAt: 0,
  endedAt: 1000,
  ...more,
});
const endpoint = (address: string, answers: boolean, role: EndpointProbe['role'] = 'target') =>
  ({ role, name: address, address, port: 80, answers, found: '' }) satisfies EndpointProbe;
const gateway = (answers: boolean) => endpoint('10.0.0.1', answers, 'gateway');
const probes = (endpoints: EndpointProbe[], more: Partial<Probes> = {}): Probes => ({
  at: 0,
  host,
  endpoints,
  resolver: { servers: [], names: [] },
  wasDelayed: false,
  ...more,
});

test('routes of both files, longest prefix first', () => {
  expect(routeTo(routes, '10.1.2.3')).toMatchObject({ gateway: '10.0.0.1', prefix: 0 });
  expect(routeTo(routes, '10.0.0.9')).toMatchObject({ gateway: null, prefix: 24 });
  expect(routeTo(routes, '10.99.0.1')).toMatchObject({ rejects: true });
  const six = parseIpv6Routes(`
${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 fe80${'0'.repeat(27)}1 00000400 00000002 00000000 00000003     eth0
${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 ${'0'.repeat(32)} ffffffff 00000001 00000000 00200200       lo
`);
  expect(six).toHaveLength(1);
  expect(routeTo(six, '2001:db8::9')).toMatchObject({ gateway: 'fe80::1%eth0', interface: 'eth0' });
  const arp = 'IP address HW type Flags HW address Mask Device\n10.0.0.1 0x1 0x0 00:00 * eth0\n';
  expect(parseNeighbours(arp)).toEqual(new Map([['10.0.0.1', false]]));
  expect(parseNeighbours6('fe80::1 0\nfe80::2 0\nfe80::1 1\nfe80::2 0\n')).toEqual(
    new Map([
      ['fe80::1', true],
      ['fe80::2', false],
    ]),
  );
});

describe("by the host's own state", () => {
  const without = (more: Partial<HostState>) => ({ ...host, ...more });
  const down = { ...eth0, down: 'has no carrier' };
  test.each<[string, Partial<Failure>, Partial<LocalFacts>, [string, string | null] | null]>([
    ['all is well', {}, {}, null],
    ['itself', { address: '127.0.0.1' }, {}, ['target', null]],
    ['own address', { address: '10.0.0.5' }, {}, ['target', null]],
    ['no carrier', {}, { host: without({ interfaces: [down] }) }, ['ours', 'interface']],
    [
      'rejecting route',
      { address: '10.99.0.1' },
      { kernel: { error: 'EINVAL' } },
      ['ours', 'rejecting-route'],
    ],
    [
      'no default route',
      {},
      { host: without({ routes: routes.slice(1) }), kernel: { error: 'ENETUNREACH' } },
      ['ours', 'route'],
    ],
    [
      'an IP version that never was',
      { address: '2001:db8::1' },
      { kernel: { error: 'ENETUNREACH' } },
      ['target', null],
    ],
  ])('%s', (_, failed, more, expected) => {
    const verdict = judgeLocally(failure(failed), facts(more));
    expect(verdict === null ? null : [verdict.owner, verdict.cause]).toEqual(expected);
  });
});

describe('by the answers of others', () => {
  const dead = { ...host, neighbours: new Map([['10.0.0.1', false]]) };
  test.each<[string, Probes, [string, string | null]]>([
    ['another target answers', probes([gateway(true), endpoint('10.2.0.1', true)]), ['target', null]],
    ['the gateway has no hardware address', probes([gateway(false)], { host: dead }), ['ours', 'gateway']],
    ['a silent gateway alone proves nothing', probes([gateway(false)]), ['target', null]],
    [
      'a silent gateway and another',
      probes([gateway(false), endpoint('10.1.0.2', false)]),
      ['ours', 'gateway'],
    ],
    ['a dead network', probes([gateway(true), endpoint('10.1.0.2', false)]), ['target', null]],
    ['several dead networks', probes([gateway(true), endpoint('10.2.0.1', false)]), ['ours', 'swallowed']],
    ['only the target itself', probes([gateway(true), endpoint('10.1.0.1', false)]), ['target', null]],
    [
      'a silent service',
      probes([gateway(true), endpoint('10.9.0.1', false, 'service')]),
      ['ours', 'swallowed'],
    ],
  ])('%s', (_, asked, expected) => {
    const { owner, cause } = judgeByAnswers(failure(), facts(), asked);
    expect([owner, cause]).toEqual(expected);
  });

  test('silence proves nothing if this agent was too late to hear the answers', () => {
    const silent = probes([gateway(true), endpoint('10.2.0.1', false)], { wasDelayed: true });
    const { owner, summary } = judgeByAnswers(failure(), facts(), silent);
    expect([owner, summary]).toEqual(['target', expect.stringContaining('was itself too late')]);
  });

  type Server = Probes['resolver']['servers'][number]['state'];
  const resolver = (state: Server, ...names: [string, boolean][]) =>
    probes([], {
      resolver: {
        servers: [{ address: '127.0.0.53', state, found: '' }],
        names: names.map(([name, resolves]) => ({ name, resolves, found: '' })),
      },
    });
  test.each<[string, Probes, boolean, 'ours' | 'target']>([
    ['silent', resolver('silent'), false, 'ours'],
    ['silent, but another name resolves', resolver('silent', ['b', true]), false, 'target'],
    ['answers', resolver('answers'), false, 'target'],
    ['fails, with nothing to compare with', resolver('fails', ['a', false]), false, 'target'],
    ['fails for all names', resolver('fails', ['b', false]), false, 'ours'],
    ['has lost all names', resolver('answers', ['b', false]), true, 'ours'],
    ['has lost one name', resolver('answers', ['b', true]), true, 'target'],
  ])('a resolver that is %s', (_, asked, lostName, owner) => {
    const failed = failure({ step: 'name', hostname: 'a', address: null, lostName });
    expect(judgeByAnswers(failed, facts({ kernel: null }), asked).owner).toBe(owner);
  });
});

describe('a resolver that has not worked since the agent started', () => {
  const servers = [{ address: '10.9.0.53', state: 'silent' as const, found: 'does not answer' }];
  const never = facts({ kernel: null, resolverHasWorked: false });
  const failed = failure({ step: 'name', hostname: 'a', address: null });
  const asked = (endpoints: EndpointProbe[], names: string[] = [], more: Partial<Probes> = {}) =>
    probes(endpoints, {
      resolver: { servers, names: names.map((name) => ({ name, resolves: false, found: 'no answer' })) },
      ...more,
    });

  test('leaves the failure with the target, and the evidence says why', () => {
    const verdict = judgeByAnswers(failed, never, asked([gateway(true)]));
    expect(verdict).toMatchObject({
      owner: 'target',
      summary: expect.stringContaining('none has since this agent started'),
      evidence: expect.arrayContaining([{ looked: 'name server 10.9.0.53', found: 'does not answer' }]),
    });
    expect(
      judgeByAnswers(failure({ step: 'unknown', address: null }), never, asked([gateway(true)])).owner,
    ).toBe('target');
  });

  test.each<[string, Probes, string]>([
    ['the name of a reference does not resolve either', asked([gateway(true)], ['reference']), 'resolver'],
    [
      'the gateway to it is dead',
      asked([gateway(false)], [], { host: { ...host, neighbours: new Map([['10.0.0.1', false]]) } }),
      'gateway',
    ],
  ])('is ours if %s', (_, seen, cause) => {
    expect(judgeByAnswers(failed, never, seen)).toMatchObject({ owner: 'ours', cause });
  });
});

test('network errors in the texts of customer code', () => {
  const seen = (message: string) => scriptSuspicion(reasonOf('TEST_FAILED', message), {});
  expect(seen('page.goto: net::ERR_NAME_NOT_RESOLVED at https://shop.example/a')).toEqual({
    step: 'name',
    hostname: 'shop.example',
    address: null,
  });
  expect(seen('connect ENETUNREACH 10.1.0.1:443')).toMatchObject({ step: 'connection', address: '10.1.0.1' });
  expect(seen('net::ERR_INTERNET_DISCONNECTED')).toMatchObject({ step: 'unknown' });
  expect(seen('expected 200, received 500')).toBeNull();
});

test('trouble lasts until something answers, and covers attempts that overlap with it', () => {
  const troubles = createTroubles();
  troubles.seen('eth0', { cause: 'gateway', summary: 'gone', at: 10_000 });
  troubles.seen('eth0', { cause: 'gateway', summary: 'gone', at: 20_000 });
  expect(troubles.current(30_000)).toMatchObject({ since: 10_000, seenAt: 20_000 });
  expect(troubles.during('eth0', { startedAt: 21_000, endedAt: 26_000 })).not.toBeNull();
  expect(troubles.during('eth0', { startedAt: 23_000, endedAt: 26_000 })).toBeNull();
  expect(troubles.during('eth1', { startedAt: 21_000, endedAt: 26_000 })).toBeNull();
  expect(troubles.lasting('eth0', 30_000)).not.toBeNull();
  troubles.over('eth0', 24_000);
  troubles.over('eth0', 29_000);
  expect(troubles.current(30_000)).toBeNull();
  expect(troubles.lasting('eth0', 30_000)).toBeNull();
  // What began before the first answer may have been sent into the trouble.
  expect(troubles.during('eth0', { startedAt: 23_000, endedAt: 26_000 })).not.toBeNull();
  expect(troubles.during('eth0', { startedAt: 24_500, endedAt: 26_000 })).toBeNull();
});

test('REFERENCE_TARGETS', () => {
  const read = (value: string) => referenceTargets({ REFERENCE_TARGETS: value }, 'REFERENCE_TARGETS');
  expect(read('')).toEqual([]);
  expect(
    read('a.example:443, [::1]:80,https://b.example/x').map(({ host: name, port }) => [name, port]),
  ).toEqual([
    ['a.example', 443],
    ['::1', 80],
    ['b.example', 443],
  ]);
  for (const wrong of ['a.example', 'a:0', 'a:70000', 'ftp://a', '::1:80', 'http://u:p@a', 'a b:1']) {
    expect(() => read(wrong), wrong).toThrow(/REFERENCE_TARGETS: .* neither host:port nor an http\(s\) URL/);
  }
});
