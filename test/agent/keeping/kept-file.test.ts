import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKeptFile } from '../../../src/agent/keeping/kept-file.ts';
import { readSealedLines, writeSealedLines } from '../../../src/agent/keeping/sealed-lines.ts';
import { keptSample, packedCheck } from './samples.ts';

/** The held checks over a restart, also with an agent of another release. */

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kept-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const kept = keptSample(packedCheck({ sharesVariables: true, job: '{"environmentVariables":[]}' }));

const file = (instanceId: string) =>
  createKeptFile({
    root,
    instanceId,
    apiKey: 'pl_key',
    onError: (error) => {
      throw error;
    },
  });

async function write(): Promise<void> {
  const one = file('one');
  await one.save(kept);
  await one.close();
}

test('an agent of this release continues the checks with their variables', async () => {
  await write();
  const two = file('two');
  expect(await two.adopt()).toEqual({ ...kept, instances: ['one'] });
  expect(readdirSync(root)).toEqual(['two']);
  await two.close();
});

test('a process that has not saved anything itself is named to those that continue it, but not for ever', async () => {
  await write();
  const names = ['one'];
  for (const name of 'abcdefghij') {
    const next = file(name);
    expect((await next.adopt())?.instances).toEqual(names.slice(-8));
    await next.close();
    names.push(name);
  }
  // What it saves itself names the earlier ones, too.
  const last = file('last');
  await last.adopt();
  await last.save({ ...kept, holders: ['b'] });
  await last.close();
  const after = file('after');
  expect(await after.adopt()).toMatchObject({ holders: ['b'], instances: [...names, 'last'].slice(-8) });
  await after.close();
});

test('an agent that knows no variables apart from the checks finds none that lack them', async () => {
  await write();
  // Releases with protocol minor 7 read this file.
  expect(readdirSync(join(root, 'one'))).not.toContain('held');
});

test('the checks of an agent of an earlier release are continued', async () => {
  await write();
  for (const name of readdirSync(join(root, 'one'))) {
    if (name.startsWith('held')) rmSync(join(root, 'one', name));
  }
  const { checks, ...facts } = kept;
  const whole = {
    ...facts,
    checks: checks.map((check) => ({ ...check, job: { environmentVariables: [] } })),
  };
  const key = createHash('sha256').update('assignments of pl_key').digest();
  await writeSealedLines(join(root, 'one', 'held'), key, [JSON.stringify(whole)]);
  const two = file('two');
  expect(await two.adopt()).toEqual({ ...kept, instances: ['one'] });
  await two.close();
});

test('what changes with each run is written without the checks, and counts only with the checks it was written for', async () => {
  const one = file('one');
  const facts = {
    holders: ['a', 'b'],
    reportedTo: 5_000,
    heardAt: 6,
    stopsInOutages: true,
    skewMs: 7,
    runs: [],
  };
  // Nothing is held yet.
  await one.saveFacts(facts);
  expect(readdirSync(root)).toEqual([]);
  await one.save(kept);
  const { ino } = statSync(join(root, 'one', 'held-apart'));
  await one.saveFacts(facts);
  expect(statSync(join(root, 'one', 'held-apart')).ino).toBe(ino);
  const facts1 = readFileSync(join(root, 'one', 'held-facts'));
  // Killed: its files stay, and its next process continues them.
  const two = file('two');
  await one.close();
  expect(await two.adopt()).toEqual({ ...kept, ...facts, instances: ['one'] });
  await two.save({ ...kept, reportedTo: 1_000 });
  // Facts of other checks: here those of the process before.
  writeFileSync(join(root, 'two', 'held-facts'), facts1);
  await two.close();
  const three = file('three');
  expect(await three.adopt()).toMatchObject({ reportedTo: 1_000, holders: ['a'] });
  await three.close();
});

test('thousands of checks are read as they were written, and a damaged file is no file', async () => {
  const [check] = kept.checks;
  if (check === undefined) throw new Error('there is one');
  const checks = Array.from({ length: 3_000 }, (_, index) => ({
    ...check,
    checkId: `check ${index}`,
    job: JSON.stringify({ name: `ü${'x'.repeat(index % 700)}` }),
  }));
  const one = file('one');
  await one.save({ ...kept, checks });
  await one.close();
  const two = file('two');
  expect((await two.adopt())?.checks).toEqual(checks);
  await two.close();
  const path = join(root, 'two', 'held-apart');
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const three = file('three');
  expect(await three.adopt()).toBeNull();
  await three.close();
});

const checkOf = (checkId: string) => packedCheck({ checkId, sharesVariables: true });
const leave = async (name: string, heardAt: number): Promise<void> => {
  const left = file(name);
  await left.save({ ...keptSample(checkOf(`of ${name}`)), heardAt });
  await left.close();
};
const idsOf = (found: { checks: readonly { checkId: string }[] } | null) =>
  (found?.checks ?? []).map(({ checkId }) => checkId).sort();

test('of processes that start together, one takes over each check', async () => {
  for (const name of ['one', 'two', 'three']) await leave(name, 1);
  const [a, b] = [file('a'), file('b')];
  const found = await Promise.all([a.adopt(), b.adopt()]);
  expect(found.flatMap(idsOf).sort()).toEqual(['of one', 'of three', 'of two']);
  await Promise.all([a.close(), b.close()]);
});

test('checks of a process that lost the service long before another are not continued', async () => {
  await leave('old', 1_000);
  await leave('recent', 41_000);
  await leave('new', 100_000);
  const next = file('next');
  const found = await next.adopt();
  expect(idsOf(found)).toEqual(['of new', 'of recent']);
  expect(found?.instances).toEqual(['recent', 'new']);
  expect(readdirSync(root)).toEqual(['next']);
  await next.close();
});

test('a process that holds checks takes over only from those that heard of the service as late', async () => {
  const own = { ...keptSample(checkOf('own')), heardAt: 100_000 };
  const next = file('next');
  await next.save(own);
  await leave('old', 39_999);
  expect(await next.adopt(own)).toBeNull();
  await leave('recent', 41_000);
  expect(idsOf(await next.adopt(own))).toEqual(['of recent']);
  expect(readdirSync(root).sort()).toEqual(['next', 'old']);
  await next.close();
  const last = file('last');
  expect(idsOf(await last.adopt())).toEqual(['of recent', 'own']);
  await last.close();
});

test('what a process had claimed before it was killed is continued', async () => {
  await leave('one', 1);
  mkdirSync(join(root, 'two'));
  renameSync(join(root, 'one'), join(root, 'two', 'from-one'));
  const three = file('three');
  expect(await three.adopt()).toMatchObject({ checks: [{ checkId: 'of one' }], instances: ['one'] });
  expect(readdirSync(join(root, 'three'))).not.toContain('from-two');
  await three.close();
});

test('a process that holds checks finds those that another had claimed before it was killed', async () => {
  const own = { ...keptSample(checkOf('own')), heardAt: 100_000 };
  const next = file('next');
  await next.save(own);
  await leave('one', 100_000);
  // It has written nothing itself.
  mkdirSync(join(root, 'two'));
  renameSync(join(root, 'one'), join(root, 'two', 'from-one'));
  // It lost the service long before.
  await leave('old', 1_000);
  await leave('three', 100_000);
  renameSync(join(root, 'three'), join(root, 'old', 'from-three'));
  expect(idsOf(await next.adopt(own))).toEqual(['of one', 'of three']);
  await next.close();
});

test('what could not be read is read again', async () => {
  const own = { ...keptSample(checkOf('own')), heardAt: 100_000 };
  const next = file('next');
  await next.save(own);
  await leave('one', 100_000);
  const path = join(root, 'one', 'held-apart');
  const bytes = readFileSync(path);
  writeFileSync(path, '');
  expect(await next.adopt(own)).toBeNull();
  writeFileSync(path, bytes);
  expect(idsOf(await next.adopt(own))).toEqual(['of one']);
  await next.close();
});

test('facts that were to be written while checks are taken over do not count for these', async () => {
  const own = { ...keptSample(checkOf('own')), heardAt: 100_000, reportedTo: 5_000 };
  const next = file('next');
  await next.save(own);
  const left = file('one');
  await left.save({ ...keptSample(checkOf('of one')), heardAt: 100_000, reportedTo: 1_000 });
  await left.close();
  const { checks: _, variables: __, ...facts } = { ...own, reportedTo: 6_000 };
  await Promise.all([next.adopt(own), next.saveFacts(facts)]);
  await next.close();
  const last = file('last');
  expect(await last.adopt()).toMatchObject({ reportedTo: 1_000 });
  await last.close();
});

test('the difference of the clocks counts only on the machine that measured it', async () => {
  const one = file('one');
  await one.save({ ...kept, skewMs: 600_000 });
  await one.close();
  const key = createHash('sha256').update('assignments of pl_key').digest();
  const path = join(root, 'one', 'held-apart');
  const [first = '', ...checks] = [...((await readSealedLines(path, key)) ?? [])];
  expect(JSON.parse(first)).toMatchObject({ skewMs: 600_000 });
  const elsewhere = { ...(JSON.parse(first) as object), boot: 'of another machine' };
  await writeSealedLines(path, key, [JSON.stringify(elsewhere), ...checks]);
  const two = file('two');
  expect(await two.adopt()).toMatchObject({ skewMs: null, checks: kept.checks });
  await two.close();
});

test('a process that died during a run is charged once, however many processes read what it kept', async () => {
  const run = { checkId: 'c', locationId: 'l', dueAt: 5_000, deaths: 0, isGoing: true };
  const waiting = { ...run, dueAt: 6_000, deaths: 1, isGoing: false };
  const one = file('one');
  await one.save({ ...kept, runs: [run, waiting] });
  await one.close();
  for (const name of ['two', 'three']) {
    const next = file(name);
    expect((await next.adopt())?.runs).toEqual([{ ...run, deaths: 1, isGoing: false }, waiting]);
    await next.close();
  }
  const four = file('four');
  await four.adopt();
  await four.save(kept);
  // It begins the run again, and dies during it.
  await four.saveFacts({ ...kept, runs: [{ ...run, deaths: 1 }] });
  await four.close();
  const five = file('five');
  expect((await five.adopt())?.runs).toEqual([{ ...run, deaths: 2, isGoing: false }]);
  await five.save({ ...kept, runs: [{ checkId: 1 }, 'x', null] as unknown as typeof kept.runs });
  await five.close();
  const six = file('six');
  expect((await six.adopt())?.runs).toEqual([]);
  await six.close();
});
