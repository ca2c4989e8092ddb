import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createKeptFile } from '../../../src/agent/keeping/kept-file.ts';
import { keptSample, packedCheck } from './samples.ts';
import { answer, check, start, talk } from './talk.ts';

/** Held checks around outages, and with processes that share a data folder. */

const shared = { sharesVariables: true };
const now = check({ ...shared, from: start, intervalSeconds: 10 });
const held = answer({ isFirst: true, checks: [now], ...shared });

const ownFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'keeping-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};
const file = (root: string, instanceId: string) =>
  createKeptFile({
    root,
    instanceId,
    apiKey: 'pl_key',
    onError: (error) => {
      throw error;
    },
  });

test('an agent that had stopped runs nothing before it has heard all changes', async () => {
  const stops = { ...shared, stopsInOutages: true };
  const due = { ...shared, from: start + 60_000, intervalSeconds: 300 };
  const checks = [check(due), check({ ...due, checkId: '0198c0de-0000-7000-8000-000000000009' })];
  const { runs, reports } = await talk(
    [
      answer({ isFirst: true, checks, ...stops }),
      answer({ dropped: ['another'], hasMore: true, ...stops }),
      answer({ dropped: ['a third'], hasMore: true, ...stops }),
      answer({ dropped: checks.map(({ checkId }) => checkId), ...stops }),
    ],
    { laterMs: 60_500, laterAt: 1, answerMs: 50 },
  );
  expect([runs, reports]).toEqual([0, []]);
});

test('an agent that can load nothing that runs need gives its checks back', async () => {
  const { asked, runs } = await talk([held, answer(shared), answer(shared)], { isBroken: () => true });
  expect(asked.at(-1)).toMatchObject({ isLeaving: true, reportedTo: start - 1 });
  expect(runs).toBe(0);
});

test('what a process leaves is not its own any more', async () => {
  const folder = ownFolder();
  const whenAsked: NonNullable<Parameters<typeof talk>[1]>['whenAsked'] = async (keeping) => {
    keeping.drain();
    await keeping.whenIdle();
    await keeping.leave();
    const two = file(folder, 'two');
    expect(await two.adopt()).toMatchObject({ checks: [] });
    await two.close();
  };
  const { asked } = await talk([held], { folder, whenAsked });
  expect(asked.filter(({ isLeaving }) => isLeaving)).toHaveLength(1);
});

test('what a process cannot give back is taken over on its data folder while it still runs', async () => {
  const folder = ownFolder();
  const whenAsked: NonNullable<Parameters<typeof talk>[1]>['whenAsked'] = async (keeping) => {
    keeping.drain();
    await keeping.leave();
    const two = file(folder, 'two');
    expect(await two.adopt()).toMatchObject({ checks: [{ checkId: now.checkId }], instances: ['one'] });
    await two.close();
  };
  await talk([held], { folder, whenAsked, leaveStatus: 503 });
  // The first one has written nothing more.
  expect(readdirSync(folder)).toEqual(['two']);
});

test('in an outage, a process takes over the checks of one that ends beside it', async () => {
  const folder = ownFolder();
  const { dueAt } = await talk([], {
    folder,
    instanceId: 'two',
    skewMs: null,
    whenAsked: async (_, seen) => {
      expect((await talk([held], { folder })).runs).toBe(1);
      await expect.poll(() => seen.dueAt.length).toBe(1);
    },
  });
  expect(dueAt).toEqual([new Date(start).toISOString()]);
});

test('a process that takes over twice before its first hello names all of them there', async () => {
  const folder = ownFolder();
  const leave = async (instanceId: string, holder: string) => {
    const left = file(folder, instanceId);
    await left.save({
      ...keptSample(packedCheck({ checkId: holder })),
      holders: [holder],
      heardAt: start - 60_000,
    });
    await left.close();
  };
  await leave('one', 'a');
  await talk([], {
    folder,
    instanceId: 'two',
    skewMs: null,
    whenAsked: async (keeping) => {
      expect(keeping.offer().continues).toEqual(['a', 'one']);
      await leave('three', 'c');
      await expect.poll(() => keeping.offer().continues).toEqual(['a', 'c', 'one', 'three']);
    },
  });
});

test('while the service is there, it gives the checks of a dead process to others', async () => {
  const folder = ownFolder();
  const { dueAt } = await talk([answer({ isFirst: true, ...shared })], {
    folder,
    instanceId: 'two',
    whenAsked: async () => {
      await talk([held], { folder });
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
  });
  expect(dueAt).toEqual([]);
});

test('a service that lets agents hold no checks is not away', async () => {
  const folder = ownFolder();
  const { dueAt } = await talk([answer({ cursor: null, isOff: true })], {
    folder,
    instanceId: 'two',
    laterMs: 1,
    whenAsked: async () => {
      await talk([held], { folder });
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
  });
  expect(dueAt).toEqual([]);
});

test('the difference of the clocks is kept for the next process', async () => {
  const folder = ownFolder();
  await talk([held], { folder, skewMs: 600_000 });
  const two = file(folder, 'two');
  expect(await two.adopt()).toMatchObject({ skewMs: 600_000 });
  await two.close();
});
