import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKeptFile, type Kept } from '../../../src/agent/keeping/kept-file.ts';

/** The held checks over a restart, also with an agent of another release. */

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kept-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const kept: Kept = {
  holders: ['a'],
  checks: [
    {
      checkId: 'c',
      holder: 'a',
      locationId: 'l',
      epoch: 1,
      from: 0,
      intervalSeconds: 60,
      offsetSeconds: 0,
      pauses: [],
      sharesVariables: true,
      job: { environmentVariables: [] },
    },
  ],
  reportedTo: null,
  heardAt: 1,
  stopsInOutages: false,
  variables: { tag: 't', list: [{ key: 'A', value: 'b' }] },
};

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
  one.save(kept);
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
  last.save({ ...kept, holders: ['b'] });
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
    if (name.startsWith('held')) renameSync(join(root, 'one', name), join(root, 'one', 'held'));
  }
  const two = file('two');
  expect(await two.adopt()).toEqual({ ...kept, instances: ['one'] });
  await two.close();
});
