import { encode, AUTHENTIC_DATA, DNSSEC_OK, RECURSION_DESIRED, type RecordType } from 'dns-packet';

/**
 * DNS messages (RFC 1035 section 4). dns-packet encodes queries. Answers are decoded here because they are evidence:
 * every length is checked against the message, names keep their escapes, and unknown types keep their bytes.
 */

export type DnsQuestion = { name: string; type: number; class: number };

/** A record of an answer. `name` is absolute, in presentation form. Its data are `bytes[start..end)` of the message. */
export type DnsRecord = {
  name: string;
  type: number;
  class: number;
  ttl: number;
  start: number;
  end: number;
};

export type DnsMessage = {
  bytes: Buffer;
  id: number;
  response: boolean;
  opcode: number;
  /** With the upper bits of EDNS (RFC 6891 section 6.1.3). */
  rcode: number;
  flags: { aa: boolean; tc: boolean; rd: boolean; ra: boolean; ad: boolean; cd: boolean };
  questions: DnsQuestion[];
  answers: DnsRecord[];
  authorities: DnsRecord[];
  /** Without the OPT pseudo-record, which is `edns`. */
  additionals: DnsRecord[];
  edns: { udpPayloadSize: number; version: number; dnssecOk: boolean } | null;
};

export type DnsQuery = { id: number; name: string; type: number; class: number; bytes: Buffer };

/** The bytes are not a valid DNS message. */
export class DnsMalformed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DnsMalformed';
  }
}

/** Maximum size of a UDP answer that the query allows: fits one unfragmented packet everywhere (DNS flag day 2020). */
export const udpPayloadSize = 1232;

/**
 * Encodes a query, with recursion desired and of the class IN unless it says otherwise. `name` is ASCII, without escapes; `.` is the root. With `edns` the query
 * has an OPT record (payload 1232, DO) and the AD bit, so that the answer shows whether the resolver validated it
 * (RFC 6840 5.7).
 */
export function encodeQuery(query: {
  id: number;
  name: string;
  type: number;
  edns: boolean;
  class?: number;
  recursionDesired?: boolean;
}): DnsQuery {
  const bytes = encode({
    id: query.id,
    type: 'query',
    flags: (query.recursionDesired === false ? 0 : RECURSION_DESIRED) | (query.edns ? AUTHENTIC_DATA : 0),
    // dns-packet silently encodes unknown type names as type 0, but accepts UNKNOWN_n for every number. Its types
    // list only the mnemonics.
    questions: [
      {
        name: query.name,
        type: `UNKNOWN_${query.type}` as RecordType,
        class: 'IN',
      },
    ],
    additionals: query.edns
      ? [
          {
            name: '.',
            type: 'OPT',
            udpPayloadSize,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: DNSSEC_OK,
            flag_do: true,
            options: [],
          },
        ]
      : [],
  });
  const klass = query.class ?? 1;
  if (klass !== 1) setClass(bytes, klass);
  return { id: query.id, name: query.name, type: query.type, class: klass, bytes };
}

const headerBytes = 12;

/** The library silently encodes classes that it does not know, such as NONE, as 0. */
function setClass(query: Buffer, number: number): void {
  let at = headerBytes;
  for (let label = query.readUInt8(at); label !== 0; label = query.readUInt8(at)) at += 1 + label;
  // Behind the end of the name and the type.
  query.writeUInt16BE(number, at + 3);
}

/** Bytes with a meaning in the presentation form of a label (RFC 1035 section 5.1). */
const escaped = new Set(Buffer.from('.\\"();@$'));

function presentLabel(bytes: Buffer, start: number, end: number): string {
  let plain = true;
  for (let i = start; i < end && plain; i += 1) {
    const byte = bytes[i] ?? 0;
    plain = byte > 0x20 && byte < 0x7f && !escaped.has(byte);
  }
  if (plain) return bytes.toString('latin1', start, end);
  let label = '';
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte <= 0x20 || byte >= 0x7f) label += `\\${String(byte).padStart(3, '0')}`;
    else label += escaped.has(byte) ? `\\${String.fromCharCode(byte)}` : String.fromCharCode(byte);
  }
  return label;
}

/**
 * The name at `offset`, absolute and in presentation form, and the offset after it. `limit` is the end of the data
 * that it may occupy. Pointers must point backwards, which limits the number of steps. Throws DnsMalformed.
 */
export function readName(bytes: Buffer, offset: number, limit: number): { name: string; end: number } {
  let name = '';
  let length = 0;
  let end = -1;
  let at = offset;
  let earliest = offset;
  let stop = limit;
  for (;;) {
    const size = at < stop ? bytes[at] : undefined;
    if (size === undefined) throw new DnsMalformed('a name runs over the end');
    if (size === 0) {
      if (end === -1) end = at + 1;
      return { name: name === '' ? '.' : name, end };
    }
    if (size < 0x40) {
      const next = at + 1 + size;
      if (next > stop) throw new DnsMalformed('a label runs over the end');
      length += size + 1;
      if (length > 254) throw new DnsMalformed('a name is longer than 255 bytes');
      name += `${presentLabel(bytes, at + 1, next)}.`;
      at = next;
    } else if (size >= 0xc0) {
      const low = at + 1 < stop ? bytes[at + 1] : undefined;
      if (low === undefined) throw new DnsMalformed('a pointer runs over the end');
      if (end === -1) end = at + 2;
      at = ((size & 0x3f) << 8) | low;
      if (at >= earliest) throw new DnsMalformed('a compression pointer does not point backwards');
      earliest = at;
      stop = bytes.length;
    } else {
      throw new DnsMalformed('a label has an unknown form');
    }
  }
}

function readQuestions(
  bytes: Buffer,
  from: number,
  count: number,
): { questions: DnsQuestion[]; end: number } {
  const questions: DnsQuestion[] = [];
  let offset = from;
  for (let i = 0; i < count; i += 1) {
    const { name, end } = readName(bytes, offset, bytes.length);
    if (end + 4 > bytes.length) throw new DnsMalformed('a question runs over the end');
    questions.push({ name, type: bytes.readUInt16BE(end), class: bytes.readUInt16BE(end + 2) });
    offset = end + 4;
  }
  return { questions, end: offset };
}

function readRecords(bytes: Buffer, from: number, count: number): { records: DnsRecord[]; end: number } {
  const records: DnsRecord[] = [];
  let offset = from;
  for (let i = 0; i < count; i += 1) {
    const { name, end } = readName(bytes, offset, bytes.length);
    if (end + 10 > bytes.length) throw new DnsMalformed('a record runs over the end');
    const start = end + 10;
    const recordEnd = start + bytes.readUInt16BE(end + 8);
    if (recordEnd > bytes.length) throw new DnsMalformed("a record's data run over the end");
    records.push({
      name,
      type: bytes.readUInt16BE(end),
      class: bytes.readUInt16BE(end + 2),
      ttl: bytes.readUInt32BE(end + 4),
      start,
      end: recordEnd,
    });
    offset = recordEnd;
  }
  return { records, end: offset };
}

/** Header and question, which decide whether a message answers our query. Throws DnsMalformed. */
function readHead(bytes: Buffer): { message: DnsMessage; end: number } {
  if (bytes.length < 12)
    throw new DnsMalformed(`an answer of ${bytes.length} bytes is shorter than a header`);
  const bits = bytes.readUInt16BE(2);
  const { questions, end } = readQuestions(bytes, 12, bytes.readUInt16BE(4));
  const message: DnsMessage = {
    bytes,
    id: bytes.readUInt16BE(0),
    response: (bits & 0x8000) !== 0,
    opcode: (bits >> 11) & 0xf,
    rcode: bits & 0xf,
    flags: {
      aa: (bits & 0x0400) !== 0,
      tc: (bits & 0x0200) !== 0,
      rd: (bits & 0x0100) !== 0,
      ra: (bits & 0x0080) !== 0,
      ad: (bits & 0x0020) !== 0,
      cd: (bits & 0x0010) !== 0,
    },
    questions,
    answers: [],
    authorities: [],
    additionals: [],
    edns: null,
  };
  return { message, end };
}

const optType = 41;

function readSections(message: DnsMessage, from: number): void {
  const { bytes } = message;
  const answers = readRecords(bytes, from, bytes.readUInt16BE(6));
  const authorities = readRecords(bytes, answers.end, bytes.readUInt16BE(8));
  const additionals = readRecords(bytes, authorities.end, bytes.readUInt16BE(10));
  message.answers = answers.records;
  message.authorities = authorities.records;
  message.additionals = additionals.records.filter(({ type }) => type !== optType);
  const opt = additionals.records.find(({ type }) => type === optType);
  if (opt !== undefined) {
    // OPT stores the upper rcode bits, the version and the DO bit in the TTL field.
    message.rcode |= (opt.ttl >>> 24) << 4;
    message.edns = {
      udpPayloadSize: opt.class,
      version: (opt.ttl >>> 16) & 0xff,
      dnssecOk: (opt.ttl & 0x8000) !== 0,
    };
  }
}

/** Decodes a complete message. Throws DnsMalformed. */
export function decodeMessage(bytes: Buffer): DnsMessage {
  const { message, end } = readHead(bytes);
  readSections(message, end);
  return message;
}

function mismatchOf(message: DnsMessage, query: DnsQuery): string | null {
  if (!message.response) return 'not marked as a response';
  if (message.id !== query.id) return 'for another query id';
  if (message.opcode !== 0) return 'of another opcode';
  const [question] = message.questions;
  if (question === undefined) {
    // A server that cannot read a query may answer without repeating the question.
    return message.rcode === 0 ? 'without a question' : null;
  }
  const asked = query.name.endsWith('.') ? query.name : `${query.name}.`;
  const same =
    message.questions.length === 1 &&
    question.type === query.type &&
    question.class === query.class &&
    question.name.toLowerCase() === asked.toLowerCase();
  return same ? null : 'for another question';
}

/**
 * The answer to `query`, or `mismatch`: why these bytes do not belong to it. Anybody may send such bytes, so over UDP
 * they do not end the exchange. Throws DnsMalformed if they belong to it but are malformed.
 */
export function decodeAnswer(bytes: Buffer, query: DnsQuery): { answer: DnsMessage } | { mismatch: string } {
  let head: ReturnType<typeof readHead>;
  try {
    head = readHead(bytes);
  } catch (error) {
    if (error instanceof DnsMalformed) return { mismatch: error.message };
    throw error;
  }
  const mismatch = mismatchOf(head.message, query);
  if (mismatch !== null) return { mismatch };
  try {
    readSections(head.message, head.end);
  } catch (error) {
    // A truncated answer may end anywhere (RFC 2181 section 9).
    if (!(error instanceof DnsMalformed && head.message.flags.tc)) throw error;
  }
  return { answer: head.message };
}
