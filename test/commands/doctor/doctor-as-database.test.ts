import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asDatabaseProbes } from '../../../src/commands/doctor/as-database.ts';
import { runProbes, type Finding } from '../../../src/commands/doctor/finding.ts';
import { asDatabase } from '../../helpers/network/as-database.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-as-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const day = 86_400_000;
const now = Date.UTC(2026, 2, 10);

async function findingOf(name: string, bytes: Buffer, ageDays = 1): Promise<Finding | undefined> {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  utimesSync(path, (now - ageDays * day) / 1000, (now - ageDays * day) / 1000);
  return (
    await runProbes(
      asDatabaseProbes(path, () => now),
      10_000,
    )
  )[0];
}

const numbers = asDatabase([
  {
    network: '8.8.8.0',
    bits: 24,
    fields: { autonomous_system_number: 15_169, autonomous_system_organization: 'Example' },
  },
]);

test('without the variable there is nothing to try', () => {
  expect(asDatabaseProbes(null, () => now)).toEqual([]);
});

test('a database is tried with an example', async () => {
  const path = join(folder, 'good.mmdb');
  expect(await findingOf('good.mmdb', numbers)).toEqual({
    name: 'AS numbers',
    status: 'ok',
    message: `${path} (of 2026-03-09): 8.8.8.8 is in AS15169 Example`,
    remedy: null,
  });
});

test('an old one is a note', async () => {
  const found = await findingOf('old.mmdb', numbers, 200);
  expect(found).toMatchObject({ status: 'note', message: expect.stringContaining('2025-08-22') as string });
  expect(found?.remedy).toMatch(/download a newer one/);
});

test('one without AS numbers is a note', async () => {
  const places = asDatabase([{ network: '8.8.8.0', bits: 24, fields: { country: 'NZ' } }]);
  const found = await findingOf('places.mmdb', places);
  expect(found).toMatchObject({
    status: 'note',
    message: expect.stringContaining('has no AS number for 1.1.1.1, 8.8.8.8') as string,
  });
});

test('a file of another kind, a damaged one and a missing one are problems with a remedy', async () => {
  const remedy = expect.stringContaining('the agent does not start with this file') as string;
  expect(await findingOf('text.mmdb', Buffer.from('text'))).toMatchObject({
    status: 'problem',
    message: expect.stringContaining('text.mmdb cannot be used: it is not in MMDB format') as string,
    remedy,
  });
  expect(await findingOf('cut.mmdb', numbers.subarray(numbers.length - 120))).toMatchObject({
    status: 'problem',
    remedy,
  });
  const [missing] = await runProbes(
    asDatabaseProbes(join(folder, 'missing.mmdb'), () => now),
    10_000,
  );
  expect(missing).toMatchObject({
    status: 'problem',
    message: expect.stringContaining('ENOENT') as string,
    remedy,
  });
});
