import { DnsMalformed, type DnsRecord } from './message.ts';
import { readSvcb } from './svcb.ts';
import { base32hex, domainText, ipv4Text, ipv6Text, quoted, signatureTime, typeBitmap } from './text.ts';
import { DnsReader } from './reader.ts';
import { locText } from './loc.ts';
import { typeName } from './types.ts';

/**
 * Data of a record in presentation form, as the RFC of its type defines it for zone files (names absolute). Types
 * without a form here use RFC 3597's `\# length hex`. Throws DnsMalformed if the data do not match the type.
 */
export function presentRdata(bytes: Buffer, record: DnsRecord): string {
  const present = presenters.get(record.type);
  const reader = new DnsReader(bytes, record.start, record.end);
  if (present === undefined || (record.class !== 1 && record.class !== 3)) return unknownText(reader);
  const text = present(reader);
  if (reader.left > 0)
    throw new DnsMalformed(`the data of ${typeName(record.type)} are longer than their fields`);
  return text;
}

/** The strings of a TXT record, joined without quotes, as readers of the record (SPF, DKIM…) interpret it. */
export function txtValue(bytes: Buffer, record: DnsRecord): string {
  const reader = new DnsReader(bytes, record.start, record.end);
  const strings: Buffer[] = [];
  while (reader.left > 0) strings.push(reader.string());
  return domainText(Buffer.concat(strings));
}

type Present = (reader: DnsReader) => string;

function unknownText(reader: DnsReader): string {
  const data = reader.rest();
  return data.length === 0 ? '\\# 0' : `\\# ${data.length} ${data.toString('hex')}`;
}

const oneName: Present = (reader) => reader.name();
const twoNames: Present = (reader) => `${reader.name()} ${reader.name()}`;
const preferenceAndName: Present = (reader) => `${reader.u16()} ${reader.name()}`;

const strings: Present = (reader) => {
  const texts: string[] = [];
  while (reader.left > 0) texts.push(quoted(reader.string()));
  return texts.join(' ');
};

/** SOA, RFC 1035 section 3.3.13. */
const soa: Present = (reader) =>
  [reader.name(), reader.name(), reader.u32(), reader.u32(), reader.u32(), reader.u32(), reader.u32()].join(
    ' ',
  );

/** RFC 2782. */
const srv: Present = (reader) => `${reader.u16()} ${reader.u16()} ${reader.u16()} ${reader.name()}`;

/** RFC 3403 section 4.1. */
const naptr: Present = (reader) =>
  [
    reader.u16(),
    reader.u16(),
    quoted(reader.string()),
    quoted(reader.string()),
    quoted(reader.string()),
    reader.name(),
  ].join(' ');

/** RFC 8659 section 4.1. */
const caa: Present = (reader) =>
  `${reader.u8()} ${reader.string().toString('latin1')} ${quoted(reader.rest())}`;

/** RFC 7553 section 4: the target is the rest of the data, not a name. */
const uri: Present = (reader) => `${reader.u16()} ${reader.u16()} ${quoted(reader.rest())}`;

/** RFC 4034 section 5.3. */
const ds: Present = (reader) => `${reader.u16()} ${reader.u8()} ${reader.u8()} ${reader.hex()}`;

/** RFC 4034 section 2.2. */
const dnskey: Present = (reader) => `${reader.u16()} ${reader.u8()} ${reader.u8()} ${reader.base64()}`;

/** RFC 4034 section 3.2. */
const rrsig: Present = (reader) =>
  [
    typeName(reader.u16()),
    reader.u8(),
    reader.u8(),
    reader.u32(),
    signatureTime(reader.u32()),
    signatureTime(reader.u32()),
    reader.u16(),
    reader.name(),
    reader.base64(),
  ].join(' ');

/** RFC 4034 section 4.2. */
const nsec: Present = (reader) => [reader.name(), ...typeBitmap(reader)].join(' ');

/** RFC 5155 section 3.3. */
const nsec3: Present = (reader) => {
  const parameters = nsec3Parameters(reader);
  return [parameters, base32hex(reader.string()), ...typeBitmap(reader)].join(' ');
};
const nsec3Parameters: Present = (reader) => {
  const numbers = `${reader.u8()} ${reader.u8()} ${reader.u16()}`;
  const salt = reader.string();
  return `${numbers} ${salt.length === 0 ? '-' : salt.toString('hex').toUpperCase()}`;
};

/** RFC 6698 section 2.2. */
const tlsa: Present = (reader) => `${reader.u8()} ${reader.u8()} ${reader.u8()} ${reader.hex()}`;

/** RFC 4255 section 3.2. */
const sshfp: Present = (reader) => `${reader.u8()} ${reader.u8()} ${reader.hex()}`;

/** RFC 4398 section 2.2. */
const cert: Present = (reader) => `${reader.u16()} ${reader.u16()} ${reader.u8()} ${reader.base64()}`;

/** RFC 8976 section 2.3. */
const zonemd: Present = (reader) => `${reader.u32()} ${reader.u8()} ${reader.u8()} ${reader.hex()}`;

/** RFC 7477 section 2.1.2. */
const csync: Present = (reader) => [reader.u32(), reader.u16(), ...typeBitmap(reader)].join(' ');

const presenters: ReadonlyMap<number, Present> = new Map<number, Present>([
  [1, (reader) => ipv4Text(reader.take(4))],
  [2, oneName],
  [5, oneName],
  [6, soa],
  [12, oneName],
  [13, strings],
  [14, twoNames],
  [15, preferenceAndName],
  [16, strings],
  [17, twoNames],
  [18, preferenceAndName],
  [28, (reader) => ipv6Text(reader.take(16))],
  [29, locText],
  [33, srv],
  [35, naptr],
  [36, preferenceAndName],
  [37, cert],
  [39, oneName],
  [43, ds],
  [44, sshfp],
  [46, rrsig],
  [47, nsec],
  [48, dnskey],
  [50, nsec3],
  [51, nsec3Parameters],
  [52, tlsa],
  [53, tlsa],
  [59, ds],
  [60, dnskey],
  [61, (reader) => reader.base64()],
  [62, csync],
  [63, zonemd],
  [64, readSvcb],
  [65, readSvcb],
  [99, strings],
  [256, uri],
  [257, caa],
]);
