import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { OwnDelay } from '../../../src/agent/load/own-delay.ts';
import { createOwnNetwork } from '../../../src/agent/own-network/own-network.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { reasonOf } from '../../../src/protocol/reasons.ts';
import { startDnsServer, type TestDnsServer } from '../../helpers/network/dns-server.ts';
import { urlJob } from '../../helpers/network/http.ts';

/** A resolver that is silent and returns while attempts end: real queries, with the time injected. */

const job = urlJob({ url: 'http://shop.test/' });
const [shop, other] = ['shop.test', 'other.test'];
const folder = mkdtempSync(join(tmpdir(), 'own-resolver-'));
const servers: TestDnsServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A process that was late while it listened for answers for the first time. */
function lateOnce(): OwnDelay {
  const none = { waitedMs: null, throttledMs: null, stoppedMs: null, childrenWaitedMs: null };
  let begun = 0;
  return {
    begin: () => {
      const loopMs = begun++ === 0 ? 600 : 0;
      return { read: () => ({ elapsedMs: 1500, loopMs, pressurePercent: null, ...none }), end: () => {} };
    },
    close: () => {},
  };
}

/** The own network of an agent whose only name server answers `answered`, and for the root while it is not empty. */
async function setUp(ownDelay?: OwnDelay) {
  const answered = new Set([shop, other]);
  const server = await startDnsServer({
    answer: ({ name, reply }) => {
      if (answered.has(name)) return reply([{ type: 'A', name, data: '192.0.2.7' }]);
      return name === '.' && answered.size > 0 ? reply() : null;
    },
  });
  servers.push(server);
  const [resolvConfFile, hostsFile] = [join(folder, 'resolv.conf'), join(folder, 'hosts')];
  writeFileSync(resolvConfFile, `nameserver [127.0.0.1]:${server.port}\noptions timeout:1 attempts:1\n`);
  writeFileSync(hostsFile, '');
  const network = createNetwork({ useOsDnsResolver: false, hostsFile, resolvConfFile });
  let time = Date.UTC(2026, 0, 1);
  const own = createOwnNetwork({
    network,
    references: [],
    service: null,
    now: () => time,
    onExamination: () => {},
    ...(ownDelay === undefined ? {} : { ownDelay }),
  });
  await own.ready;
  /** An attempt that resolves a name and takes this time; `meanwhile` runs before it ends. */
  const attempt = async (name: string, lastsMs: number, meanwhile: () => unknown = () => {}) => {
    const startedAt = time;
    const watch = own.watch(job, network);
    const signal = new AbortController().signal;
    const isFound = await watch.network.resolve(name, { family: 4, signal }).then(
      () => true,
      () => false,
    );
    time += lastsMs;
    await meanwhile();
    return watch.conclude({
      reason: isFound ? null : reasonOf('TIMEOUT', `${name} could not be resolved`),
      details: {},
      startedAt,
      stoppedAt: time,
      limitMs: 60_000,
    });
  };
  const silence = () => answered.clear();
  const speak = () => void answered.add(shop).add(other);
  return { answered, own, attempt, silence, speak, pass: (ms: number) => void (time += ms) };
}

test('a resolver that returns just before it is asked again is no fault of the target, and no trouble that lasts', async () => {
  const { own, attempt, silence, speak } = await setUp();
  await attempt(other, 10);
  silence();
  expect(await attempt(shop, 2000, speak)).toMatchObject({
    isOurs: true,
    cause: 'resolver',
    summary: 'the resolver did not answer in time, and does now',
    evidence: expect.arrayContaining([{ looked: 'name shop.test, again', found: 'resolves' }]),
  });
  expect(own.trouble()).toBeNull();
});

test('a name to which that happens again and again is slow itself', async () => {
  const { attempt, silence, speak, pass } = await setUp();
  await attempt(other, 10);
  for (const isOurs of [true, false]) {
    silence();
    expect(await attempt(shop, 2000, speak)).toMatchObject({ isOurs });
    pass(60_000);
  }
});

test('another name that resolved only after the queries were sent proves nothing', async () => {
  const { attempt, silence, speak } = await setUp();
  await attempt(other, 10);
  silence();
  const finding = await attempt(shop, 2000, async () => {
    speak();
    await attempt(other, 10);
  });
  expect(finding).toMatchObject({ isOurs: true, cause: 'resolver' });
});

test('a name that stays silent while others resolve is at fault itself', async () => {
  const { answered, attempt } = await setUp();
  await attempt(other, 10);
  answered.delete(shop);
  const finding = await attempt(shop, 2000);
  expect(finding).toMatchObject({
    isOurs: false,
    evidence: expect.arrayContaining([{ looked: 'name shop.test, again', found: 'no answer' }]),
  });
});

test('trouble that was seen long before explains an attempt that began before anything answered', async () => {
  const { own, attempt, silence, speak, pass } = await setUp();
  await attempt(other, 10);
  silence();
  expect(await attempt(shop, 2000)).toMatchObject({
    isOurs: true,
    summary: expect.stringMatching(/^no name server/),
  });
  pass(20_000);
  const finding = await attempt(shop, 900, async () => {
    speak();
    await attempt(other, 10);
  });
  expect(finding).toMatchObject({
    isOurs: true,
    summary: expect.stringMatching(/during the attempt, no name server/),
  });
  expect(own.trouble()).toBeNull();
});

test('an examination that was too late to hear answers is made once more', async () => {
  const { attempt, silence } = await setUp(lateOnce());
  await attempt(other, 10);
  silence();
  expect(await attempt(shop, 2000)).toMatchObject({ isOurs: true, cause: 'resolver' });
});
