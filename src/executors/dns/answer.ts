import { DnsMalformed, type DnsMessage, type DnsRecord } from './message.ts';
import { presentRdata, txtValue } from './rdata.ts';
import { className, rcodeName, typeName, typeNumber } from './types.ts';

/** The JSON form of an answer, for assertions and results. */
export type JsonAnswer = {
  Answer: { name: string; type: string; TTL: number; data: string }[];
  Question: { name: string; type: string }[];
  Status: string;
  TC: boolean;
  RD: boolean;
  RA: boolean;
  AD: boolean;
  CD: boolean;
};

const signatureTypes = new Set(['RRSIG', 'NSEC', 'NSEC3'].map((name) => typeNumber(name)));
const anyType = 255;
const txtTypes = new Set([16, 99]);

/**
 * Removes the records that a client without DNSSEC would not see. The query requests signatures only to make the AD
 * bit meaningful, and assertions on the number of records must not depend on whether a zone is signed (RFC 3225
 * section 3).
 */
function recordsToShow(records: readonly DnsRecord[], asked: number): DnsRecord[] {
  return records.filter(({ type }) => type === asked || asked === anyType || !signatureTypes.has(type));
}

/** The answer as JSON; TXT data without quotes, everything else in zone file form. Throws DnsMalformed. */
export function jsonAnswer(message: DnsMessage, asked: number): JsonAnswer {
  const { bytes, flags } = message;
  return {
    Answer: recordsToShow(message.answers, asked).map((record) => ({
      name: record.name,
      type: typeName(record.type),
      TTL: record.ttl,
      data: txtTypes.has(record.type) ? txtValue(bytes, record) : presentRdata(bytes, record),
    })),
    Question: message.questions.map(({ name, type }) => ({ name, type: typeName(type) })),
    Status: rcodeName(message.rcode),
    TC: flags.tc,
    RD: flags.rd,
    RA: flags.ra,
    AD: flags.ad,
    CD: flags.cd,
  };
}

/** A record as a line of a zone file, with a tab between fields. Data that cannot be read are shown in hexadecimal. */
export function recordLine(bytes: Buffer, record: DnsRecord): string {
  let data: string;
  try {
    data = presentRdata(bytes, record);
  } catch (error) {
    if (!(error instanceof DnsMalformed)) throw error;
    data = `\\# ${record.end - record.start} ${bytes.toString('hex', record.start, record.end)}`;
  }
  return [record.name, record.ttl, className(record.class), typeName(record.type), data].join('\t');
}

/** The complete answer as text: header, flags and the sections as zone file lines, with a tab between fields. */
export function textAnswer(message: DnsMessage, asked: number): string {
  const { bytes, flags, edns } = message;
  const answers = recordsToShow(message.answers, asked);
  const authorities = recordsToShow(message.authorities, asked);
  const additionals = recordsToShow(message.additionals, asked);
  const flagNames = (['aa', 'tc', 'rd', 'ra', 'ad', 'cd'] as const).filter((name) => flags[name]);
  const counts = [
    `QUERY: ${message.questions.length}`,
    `ANSWER: ${answers.length}`,
    `AUTHORITY: ${authorities.length}`,
    `ADDITIONAL: ${additionals.length + (edns === null ? 0 : 1)}`,
  ];
  const lines = [
    `;; ->>HEADER<<- opcode: QUERY, status: ${rcodeName(message.rcode)}, id: ${message.id}`,
    `;; flags: ${['qr', ...flagNames].join(' ')}; ${counts.join(', ')}`,
  ];
  if (edns !== null) {
    lines.push('', ';; OPT PSEUDOSECTION:');
    const ednsFlags = edns.dnssecOk ? ' do' : '';
    lines.push(`; EDNS: version: ${edns.version}, flags:${ednsFlags}; udp: ${edns.udpPayloadSize}`);
  }
  lines.push('', ';; QUESTION SECTION:');
  for (const { name, type, class: klass } of message.questions) {
    lines.push(`;${name}\t${className(klass)}\t${typeName(type)}`);
  }
  const sections = { ANSWER: answers, AUTHORITY: authorities, ADDITIONAL: additionals };
  for (const [title, records] of Object.entries(sections)) {
    if (records.length === 0) continue;
    lines.push('', `;; ${title} SECTION:`, ...records.map((record) => recordLine(bytes, record)));
  }
  return lines.join('\n');
}
