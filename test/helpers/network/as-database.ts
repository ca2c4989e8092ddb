import { addressBytes } from '../../../src/executors/evidence/addresses.ts';

/** Writes small databases in MMDB format, as the agent reads them (AS_DATABASE). */

type Value = string | number | { [key: string]: Value } | Value[];

export type Entry = { network: string; bits: number; fields: { [key: string]: Value } };

function encoded(value: Value): Buffer {
  if (typeof value === 'string')
    return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(6, 4), bytes]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encoded)]);
  const fields = Object.entries(value);
  return Buffer.concat([
    control(7, fields.length),
    ...fields.flatMap(([key, one]) => [encoded(key), encoded(one)]),
  ]);
}

function control(type: number, size: number): Buffer {
  const long = size < 29 ? [] : [size - 29];
  if (size >= 29 + 256) throw new Error('too long for this writer');
  const low = size < 29 ? size : 29;
  return type < 8 ? Buffer.from([(type << 5) | low, ...long]) : Buffer.from([low, type - 7, ...long]);
}

/** A pointer of two bytes of address, to a place below 2048. */
export const pointerTo = (offset: number): Buffer => Buffer.from([0x20 | (offset >> 8), offset & 0xff]);

type Node = [Node | number | null, Node | number | null];

/** The bytes of a database with these entries. */
export function asDatabase(
  entries: readonly Entry[],
  { version = 6, recordBits = 24 }: { version?: 4 | 6; recordBits?: 24 | 28 | 32 } = {},
): Buffer {
  const root: Node = [null, null];
  const parts: Buffer[] = [];
  let offset = 0;
  for (const { network, bits, fields } of entries) {
    let address = addressBytes(network) ?? Buffer.alloc(0);
    let length = bits;
    if (version === 6 && address.length === 4) {
      address = Buffer.concat([Buffer.alloc(12), address]);
      length += 96;
    }
    let node = root;
    for (let bit = 0; bit < length; bit++) {
      const side = (((address[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) as 0 | 1;
      if (bit === length - 1) node[side] = offset;
      else {
        const next = node[side];
        const child: Node = typeof next === 'object' && next !== null ? next : [null, null];
        node[side] = child;
        node = child;
      }
    }
    const data = encoded(fields);
    parts.push(data);
    offset += data.length;
  }
  return Buffer.concat([
    tree(root, recordBits),
    Buffer.alloc(16),
    ...parts,
    metadata(countOf(root), version, recordBits),
  ]);
}

function countOf(node: Node): number {
  return node.reduce<number>(
    (sum, side) => sum + (typeof side === 'object' && side !== null ? countOf(side) : 0),
    1,
  );
}

function tree(root: Node, recordBits: 24 | 28 | 32): Buffer {
  const nodes: Node[] = [root];
  for (const node of nodes) {
    for (const side of node) if (typeof side === 'object' && side !== null) nodes.push(side);
  }
  const places = new Map(nodes.map((node, index) => [node, index]));
  const record = (side: Node | number | null): number => {
    if (side === null) return nodes.length;
    return typeof side === 'number' ? nodes.length + 16 + side : (places.get(side) ?? 0);
  };
  return Buffer.concat(
    nodes.map(([left, right]) => {
      const [l, r] = [record(left), record(right)];
      const bytes = Buffer.alloc(recordBits / 4);
      if (recordBits === 32) {
        bytes.writeUInt32BE(l, 0);
        bytes.writeUInt32BE(r, 4);
      } else {
        bytes.writeUIntBE(l & 0xffffff, 0, 3);
        bytes.writeUIntBE(r & 0xffffff, recordBits === 24 ? 3 : 4, 3);
        if (recordBits === 28) bytes[3] = ((l >>> 24) << 4) | (r >>> 24);
      }
      return bytes;
    }),
  );
}

function metadata(nodes: number, version: number, recordBits: number): Buffer {
  return Buffer.concat([
    Buffer.from('abcdef4d61784d696e642e636f6d', 'hex'),
    encoded({
      binary_format_major_version: 2,
      database_type: 'test',
      description: { en: 'a test' },
      languages: ['en'],
      ip_version: version,
      node_count: nodes,
      record_size: recordBits,
    }),
  ]);
}
