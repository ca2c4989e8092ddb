import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openOrigins } from '../../../src/executors/traceroute/origins.ts';
import { openAsDatabase } from '../../../src/executors/traceroute/as-database.ts';
import { asDatabase, pointerTo, type Entry } from '../../helpers/network/as-database.ts';

/** The local database of AS numbers. */

const entries: Entry[] = [
  {
    network: '192.0.2.0',
    bits: 24,
    fields: { autonomous_system_number: 64_500, autonomous_system_organization: 'Example Net' },
  },
  {
    network: '198.51.100.128',
    bits: 25,
    fields: { country: { iso_code: 'ZZ', names: ['a', 'b'] }, autonomous_system_number: 4_200_000_000 },
  },
  { network: '2001:db8::', bits: 32, fields: { asn: 'AS64501', as_name: 'x'.repeat(250) } },
  { network: '203.0.113.0', bits: 24, fields: { autonomous_system_number: 0 } },
];
const only4 = entries.filter(({ network }) => !network.includes(':'));

test.each([24, 28, 32] as const)(
  'finds networks by the longest prefix in records of %s bits',
  (recordBits) => {
    const both = openAsDatabase(asDatabase(entries, { recordBits }));
    const four = openAsDatabase(asDatabase(only4, { recordBits, version: 4 }));
    for (const database of [both, four]) {
      expect(database.find('192.0.2.77')).toEqual({ asn: 64_500, organization: 'Example Net' });
      expect(database.find('192.0.3.1')).toBeNull();
      expect(database.find('198.51.100.200')).toEqual({ asn: 4_200_000_000, organization: null });
      expect(database.find('198.51.100.1')).toBeNull();
      expect(database.find('203.0.113.1')).toBeNull();
      expect(database.find('no address')).toBeNull();
    }
    expect(both.find('2001:db8:1::2')).toEqual({ asn: 64_501, organization: `${'x'.repeat(200)}…` });
    expect(four.find('2001:db8:1::2')).toBeNull();
  },
);

test('a value may be a pointer to one that several entries share', () => {
  const bytes = asDatabase([
    { network: '192.0.2.0', bits: 24, fields: { name: 'Shared Net', autonomous_system_number: 1 } },
    {
      network: '192.0.3.0',
      bits: 24,
      fields: { autonomous_system_organization: 'SHARED__', autonomous_system_number: 2 },
    },
  ]);
  const data = bytes.indexOf('name') - 2;
  // The text of the second entry has nine bytes with its control byte; the pointer takes its place.
  const at = bytes.indexOf('SHARED__') - 1;
  const pointer = pointerTo(bytes.indexOf('Shared Net') - 1 - data);
  const moved = Buffer.concat([bytes.subarray(0, at), pointer, bytes.subarray(at + 9)]);
  expect(openAsDatabase(moved).find('192.0.3.1')).toEqual({ asn: 2, organization: 'Shared Net' });
});

test('what is no such database is refused by name', () => {
  const good = asDatabase(entries);
  expect(() => openAsDatabase(Buffer.from('start,end,asn\n'))).toThrow('it is not in MMDB format');
  expect(() => openAsDatabase(good.subarray(good.indexOf('autonomous') - 40))).toThrow(
    'its tree is incomplete',
  );
  expect(() => openAsDatabase(good.subarray(0, good.length - 20))).toThrow();
});

test('a pointer to itself, an endless list and a text beyond the end are found nowhere, at once', () => {
  const good = asDatabase([entries[0] ?? { network: '0.0.0.0', bits: 1, fields: {} }]);
  const data = good.indexOf('autonomous_system_number') - 3;
  for (const damage of [
    pointerTo(0),
    Buffer.from([0xff, 0xff, 0xff, 0xff]),
    Buffer.from([0xe1, 0x44, 0x61, 0x62, 0x63, 0x64, 0x1f, 0x04, 0xff, 0xff, 0xff]),
    Buffer.from([0xe1, 0x5f, 0xff, 0xff, 0xff]),
  ]) {
    const bytes = Buffer.from(good);
    damage.copy(bytes, data);
    const began = performance.now();
    expect(openAsDatabase(bytes).find('192.0.2.1')).toBeNull();
    expect(performance.now() - began).toBeLessThan(100);
  }
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'origins-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Only the metadata, with which the file ends. */
const withoutTree = (bytes: Buffer) =>
  bytes.subarray(bytes.lastIndexOf('abcdef4d61784d696e642e636f6d', 'hex'));

test.each([
  ['text.mmdb', Buffer.from('text'), 'it is not in MMDB format'],
  ['cut.mmdb', withoutTree(asDatabase(only4)), 'its tree is incomplete'],
  ['missing.mmdb', null, 'ENOENT: no such file or directory'],
] as const)(
  'a first file that cannot be used is named with the variable and the remedy: %s',
  (name, bytes, why) => {
    const path = join(folder, name);
    if (bytes !== null) writeFileSync(path, bytes);
    expect(() => openOrigins(path, () => 0)).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        exitCode: 78,
        summary: `AS_DATABASE names ${path}, which cannot be used: ${why}`,
        remedy: 'name a database of AS numbers in MMDB format in AS_DATABASE, or unset it',
      }),
    );
  },
);
