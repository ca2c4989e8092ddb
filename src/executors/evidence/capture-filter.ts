import { addressBytes } from './addresses.ts';

/** An address and a port whose packets are captured, in both directions. */
export type Endpoint = { address: string; port: number };

/** Bytes of a packet that the kernel keeps. */
export const snapLength = 160;

/** Maximum number of addresses of one family in a filter, because its jumps skip at most 255 instructions. */
export const maxFilterAddresses = 24;

// linux/filter.h: classes, sizes and modes of BPF programs.
const load = {
  word: 0x20,
  half: 0x28,
  byte: 0x30,
  halfAfterHeader: 0x48,
  byteAfterHeader: 0x50,
  wordAfterHeader: 0x40,
};
const headerLength = 0xb1; // X = 4 × (low half of the byte at k)
const jump = { equal: 0x15, greaterOrEqual: 0x35, anyBit: 0x45, always: 0x05 };
const done = 0x06;
const protocolOfFrame = 0xffff_f000; // SKF_AD_OFF + SKF_AD_PROTOCOL

type Instruction = { code: number; k: number; ifTrue?: string; ifFalse?: string };

/**
 * A classic BPF program over packets from their IP header on, for struct sock_filter. It accepts TCP and UDP from or
 * to the endpoints, and ICMP errors about packets to them. To stay short it compares only the last 32 bits of an
 * address and any of the ports; `keepPackets` filters exactly. It does not accept fragments after the first, or
 * packets with IPv6 extension headers.
 */
export function captureFilter(endpoints: readonly Endpoint[]): Uint8Array {
  const words: { 4: Set<number>; 6: Set<number> } = { 4: new Set(), 6: new Set() };
  for (const { address } of endpoints) {
    const bytes = addressBytes(address);
    if (bytes === null) continue;
    const set = words[bytes.length === 4 ? 4 : 6];
    if (set.size < maxFilterAddresses) set.add(bytes.readUInt32BE(bytes.length - 4));
  }
  const ports = [...new Set(endpoints.map(({ port }) => port))].slice(0, maxFilterAddresses);
  const program = assembler();
  const { add, label } = program;
  const anyOf = (values: Iterable<number>, ifTrue: string) => {
    for (const k of values) add({ code: jump.equal, k, ifTrue });
  };

  add({ code: load.word, k: protocolOfFrame });
  add({ code: jump.equal, k: 0x0800, ifTrue: 'v4' });
  add({ code: jump.equal, k: 0x86dd, ifTrue: 'v6', ifFalse: 'drop' });

  label('v4');
  add({ code: load.half, k: 6 });
  add({ code: jump.anyBit, k: 0x1fff, ifTrue: 'drop' });
  add({ code: headerLength, k: 0 });
  add({ code: load.byte, k: 9 });
  add({ code: jump.equal, k: 1, ifTrue: 'icmp4' });
  add({ code: jump.equal, k: 6, ifTrue: 'addresses4' });
  add({ code: jump.equal, k: 17, ifFalse: 'drop' });
  label('addresses4');
  for (const k of [12, 16]) {
    add({ code: load.word, k });
    anyOf(words[4], 'ports4');
  }
  add({ code: jump.always, k: 0, ifTrue: 'drop' });
  label('ports4');
  for (const k of [0, 2]) {
    add({ code: load.halfAfterHeader, k });
    anyOf(ports, 'take');
  }
  add({ code: jump.always, k: 0, ifTrue: 'drop' });
  label('icmp4');
  add({ code: load.byteAfterHeader, k: 0 });
  anyOf([3, 11, 12], 'about4');
  add({ code: jump.always, k: 0, ifTrue: 'drop' });
  label('about4');
  add({ code: load.wordAfterHeader, k: 8 + 16 });
  anyOf(words[4], 'take');
  add({ code: jump.always, k: 0, ifTrue: 'drop' });

  label('v6');
  add({ code: load.byte, k: 6 });
  add({ code: jump.equal, k: 58, ifTrue: 'icmp6' });
  add({ code: jump.equal, k: 6, ifTrue: 'addresses6' });
  add({ code: jump.equal, k: 17, ifFalse: 'drop' });
  label('addresses6');
  for (const k of [20, 36]) {
    add({ code: load.word, k });
    anyOf(words[6], 'ports6');
  }
  add({ code: jump.always, k: 0, ifTrue: 'drop' });
  label('ports6');
  for (const k of [40, 42]) {
    add({ code: load.half, k });
    anyOf(ports, 'take');
  }
  add({ code: jump.always, k: 0, ifTrue: 'drop' });
  label('icmp6');
  add({ code: load.byte, k: 40 });
  add({ code: jump.greaterOrEqual, k: 128, ifTrue: 'drop' });
  add({ code: load.word, k: 48 + 36 });
  anyOf(words[6], 'take');

  label('drop');
  add({ code: done, k: 0 });
  label('take');
  add({ code: done, k: snapLength });
  return program.bytes();
}

/** The program that accepts nothing. */
export const rejectAll: Uint8Array = noPackets();

function noPackets(): Uint8Array {
  const program = assembler();
  program.add({ code: done, k: 0 });
  return program.bytes();
}

/** Instructions with labels to jump to; an instruction without a label continues with the next. */
function assembler() {
  const instructions: Instruction[] = [];
  const places = new Map<string, number>();
  return {
    add: (instruction: Instruction) => void instructions.push(instruction),
    label: (name: string) => void places.set(name, instructions.length),
    bytes: (): Uint8Array => {
      const bytes = new Uint8Array(instructions.length * 8);
      // In the machine's own byte order.
      const halves = new Uint16Array(bytes.buffer);
      const wide = new Uint32Array(bytes.buffer);
      for (const [at, { code, k, ifTrue, ifFalse }] of instructions.entries()) {
        const distance = (name: string | undefined) =>
          name === undefined ? 0 : (places.get(name) ?? 0) - at - 1;
        halves[at * 4] = code;
        if (code === jump.always) {
          wide[at * 2 + 1] = distance(ifTrue);
          continue;
        }
        bytes[at * 8 + 2] = distance(ifTrue);
        bytes[at * 8 + 3] = distance(ifFalse);
        wide[at * 2 + 1] = k;
      }
      return bytes;
    },
  };
}
