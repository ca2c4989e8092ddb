import { createChance, type Chance } from '../../helpers/fuzz-input.ts';

/** Makes new inputs from known ones. The same seed gives the same inputs. */

const edges = [0, 1, 0x7f, 0x80, 0xff, 0x20, 0x0a, 0x0d, 0x22, 0x2c, 0x30, 0x5b, 0x5c, 0x7b];
const numbers = ['0', '-1', '1e999', '65536', '2147483648', '4294967295', '9007199254740993', '0x10', 'NaN'];

type Materials = {
  corpus: readonly Buffer[];
  dictionary: readonly Buffer[];
  maxBytes: number;
};

export type Mutator = { next: (materials: Materials) => Buffer };

/** Creates a source of inputs; all chance comes from `seed`. */
export function createMutator(seed: number): Mutator {
  const chance = createChance(seed);
  return {
    next: (materials) => {
      let bytes: Buffer = Buffer.from(chance.pick(materials.corpus));
      for (let left = 1 + Math.floor(chance.next() ** 3 * 8); left > 0; left--) {
        bytes = changed(bytes, materials, chance);
      }
      return bytes.subarray(0, materials.maxBytes);
    },
  };
}

function changed(bytes: Buffer, { corpus, dictionary, maxBytes }: Materials, chance: Chance): Buffer {
  const below = (limit: number): number => Math.floor(chance.next() * limit);
  const at = below(bytes.length + 1);
  const insert = (part: Buffer): Buffer => Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
  const replace = (part: Buffer): Buffer =>
    Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(Math.min(bytes.length, at + part.length))]);
  const from = below(bytes.length + 1);
  const to = Math.min(bytes.length, from + 1 + below(chance.is(0.7) ? 16 : 1024));
  switch (below(12)) {
    case 0:
    case 1: {
      if (bytes.length === 0) return Buffer.from([below(256)]);
      const place = below(bytes.length);
      bytes[place] = (bytes[place] ?? 0) ^ (1 << below(8));
      return bytes;
    }
    case 2: {
      if (bytes.length > 0) bytes[below(bytes.length)] = chance.is(0.5) ? chance.pick(edges) : below(256);
      return bytes;
    }
    case 3: {
      // A number of two or four bytes, at an edge or next to the old one.
      const size = chance.pick([2, 4]);
      if (bytes.length < size) return bytes;
      const place = below(bytes.length - size + 1);
      const top = 256 ** size;
      const old = bytes.readUIntBE(place, size);
      const value = chance.is(0.5)
        ? (old + chance.pick([-1, 1, 16])) % top
        : chance.pick([0, top - 1, top / 2, bytes.length]);
      bytes.writeUIntBE(Math.min(top - 1, Math.max(0, value)), place, size);
      return bytes;
    }
    case 4:
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
    case 5:
      return bytes.subarray(0, at);
    case 6:
    case 7:
      if (dictionary.length === 0) return insert(Buffer.from([chance.pick(edges)]));
      return chance.is(0.6) ? insert(chance.pick(dictionary)) : replace(chance.pick(dictionary));
    case 8:
      return insert(Buffer.from(chance.pick(numbers)));
    case 9: {
      const other = chance.pick(corpus);
      return Buffer.concat([bytes.subarray(0, at), other.subarray(below(other.length + 1))]);
    }
    case 10:
      return insert(bytes.subarray(from, to));
    default: {
      // The same part again and again: nesting, long lists, patterns that backtrack.
      const part = bytes.subarray(from, Math.min(to, from + 12));
      if (part.length === 0) return bytes;
      const most = Math.floor((maxBytes - bytes.length) / part.length);
      const times = Math.min(most, chance.pick([2, 10, 100, 1000, 10_000]));
      return times <= 0 ? bytes : insert(Buffer.alloc(times * part.length, part));
    }
  }
}
