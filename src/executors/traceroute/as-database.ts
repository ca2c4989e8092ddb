import { shortened } from '../../shortened.ts';
import { addressBytes } from '../evidence/addresses.ts';
import { DatabaseReader, InvalidDatabase } from './database-reader.ts';

/** The network (autonomous system) that an address belongs to. */
export type AsOrigin = { asn: number; organization: string | null };

/** A local database of AS numbers. */
export type AsDatabase = {
  /** Null: the database has no entry for the address. */
  find: (address: string) => AsOrigin | null;
};

/** The last block of the file begins with these bytes. */
const metadataMark = Buffer.from('abcdef4d61784d696e642e636f6d', 'hex');
const maxMetadataBytes = 128 * 1024;
/** Zero bytes between tree and data. */
const separatorBytes = 16;
const maxOrganization = 200;

type Tree = { bytes: Buffer; nodes: number; recordBits: number; hasV6: boolean; data: DatabaseReader };

/**
 * Opens the bytes of a file in MMDB format, version 2. Throws InvalidDatabase for another file. A lookup in a damaged
 * file finds nothing.
 */
export function openAsDatabase(bytes: Buffer): AsDatabase {
  const tree = readTree(bytes);
  const v4Start = tree.hasV6 ? walk(tree, Buffer.alloc(12), 0) : 0;
  return {
    find: (address) => {
      const found = addressBytes(address);
      if (found === null) return null;
      const isV4 = found.length === 4;
      if (!isV4 && !tree.hasV6) return null;
      try {
        const record = walk(tree, found, isV4 ? v4Start : 0);
        return record <= tree.nodes ? null : originAt(tree, record);
      } catch (error) {
        if (error instanceof InvalidDatabase) return null;
        throw error;
      }
    },
  };
}

function readTree(bytes: Buffer): Tree {
  const mark = bytes.lastIndexOf(metadataMark);
  if (mark < 0 || bytes.length - mark > maxMetadataBytes) {
    throw new InvalidDatabase('it is not in MMDB format');
  }
  const metadata = new DatabaseReader(bytes.subarray(mark + metadataMark.length)).fieldsAt(0);
  const number = (name: string): number => {
    const value = metadata.get(name);
    if (typeof value !== 'number') throw new InvalidDatabase(`its ${name} is missing`);
    return value;
  };
  const nodes = number('node_count');
  const recordBits = number('record_size');
  const version = number('ip_version');
  if (number('binary_format_major_version') !== 2) throw new InvalidDatabase('its version is not 2');
  if (recordBits !== 24 && recordBits !== 28 && recordBits !== 32) {
    throw new InvalidDatabase(`its records have ${recordBits} bits`);
  }
  if (version !== 4 && version !== 6) throw new InvalidDatabase(`its addresses have version ${version}`);
  const treeBytes = (nodes * recordBits) / 4;
  if (treeBytes + separatorBytes > mark) throw new InvalidDatabase('its tree is incomplete');
  const data = new DatabaseReader(bytes.subarray(treeBytes + separatorBytes, mark));
  return { bytes, nodes, recordBits, hasV6: version === 6, data };
}

/** The record that the bits of an address lead to: a node, the number of nodes (no entry), or a place in the data. */
function walk({ bytes, nodes, recordBits }: Tree, address: Buffer, start: number): number {
  let node = start;
  for (let bit = 0; bit < address.length * 8 && node < nodes; bit++) {
    const isRight = ((address[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1;
    const at = (node * recordBits) / 4;
    if (recordBits === 24) node = bytes.readUIntBE(at + isRight * 3, 3);
    else if (recordBits === 32) node = bytes.readUInt32BE(at + isRight * 4);
    else {
      const middle = bytes.readUInt8(at + 3);
      const high = isRight === 1 ? middle & 0x0f : middle >> 4;
      node = high * 2 ** 24 + bytes.readUIntBE(at + isRight * 4, 3);
    }
  }
  return node;
}

function originAt({ nodes, data }: Tree, record: number): AsOrigin | null {
  const fields = data.fieldsAt(record - nodes - separatorBytes);
  const asn = fields.get('autonomous_system_number') ?? numberIn(fields.get('asn'));
  if (typeof asn !== 'number' || asn <= 0) return null;
  const organization = fields.get('autonomous_system_organization') ?? fields.get('as_name');
  return {
    asn,
    organization: typeof organization === 'string' ? shortened(organization, maxOrganization) : null,
  };
}

/** Some databases write `AS64500`. */
function numberIn(value: unknown): number | null {
  const digits = typeof value === 'string' ? /^AS(\d{1,10})$/.exec(value)?.[1] : value;
  return digits === undefined || digits === null ? null : Number(digits);
}
