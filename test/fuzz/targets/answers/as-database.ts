import { openAsDatabase } from '../../../../src/executors/traceroute/as-database.ts';
import { InvalidDatabase } from '../../../../src/executors/traceroute/database-reader.ts';
import { asDatabase } from '../../../helpers/network/as-database.ts';

/** Databases of AS numbers: a damaged file is refused, or finds nothing, within bounds. */

export const name = 'as-database';
export const maxBytes = 16 * 1024;

/** Throws if a file is not read and not refused, or if what it says of an address has no limits. */
export function run(data: Buffer): void {
  let database: ReturnType<typeof openAsDatabase>;
  try {
    database = openAsDatabase(data);
  } catch (error) {
    if (error instanceof InvalidDatabase) return;
    throw error;
  }
  for (const address of ['192.0.2.1', '198.51.100.200', '255.255.255.255', '::', '2001:db8::1', 'none']) {
    const found = database.find(address);
    if (found === null) continue;
    if (!Number.isFinite(found.asn) || found.asn <= 0) throw new Error(`AS ${found.asn}`);
    if ((found.organization ?? '').length > 201) throw new Error('a long name');
  }
}

const entries = [
  {
    network: '192.0.2.0',
    bits: 24,
    fields: { autonomous_system_number: 64_500, autonomous_system_organization: 'Example Net' },
  },
  { network: '198.51.100.128', bits: 25, fields: { more: { list: ['a', 1] }, asn: 'AS64501' } },
];

export const seeds = (): Buffer[] => [
  asDatabase(entries, { version: 4, recordBits: 24 }),
  asDatabase(entries, { version: 4, recordBits: 28 }),
  asDatabase(entries, { version: 6, recordBits: 32 }),
];

export const dictionary = [
  'node_count',
  'record_size',
  'ip_version',
  Buffer.from('abcdef4d61784d696e642e636f6d', 'hex'),
  ...['ffffffff', 'e1', '20', '38', '3fffffffff', '1f04ffffff', '5fffffff', 'c4ffffffff', 'a0', '0007'].map(
    (text) => Buffer.from(text, 'hex'),
  ),
];
