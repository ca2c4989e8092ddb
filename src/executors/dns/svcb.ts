import { DnsMalformed } from './message.ts';
import { DnsReader } from './reader.ts';
import { escapedBytes, ipv4Text, ipv6Text, quoted } from './text.ts';

/** Keys of service parameters (RFC 9460 section 14.3.2, RFC 9461, RFC 9540); others are `keyNNN`. */
const keyNames = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
  'dohpath',
  'ohttp',
] as const;

function keyName(key: number): string {
  return keyNames[key] ?? `key${key}`;
}

function listOf(value: DnsReader, one: (reader: DnsReader) => string): string {
  const items: string[] = [];
  while (value.left > 0) items.push(one(value));
  if (items.length === 0) throw new DnsMalformed('a list in a service parameter is empty');
  return `"${items.join(',')}"`;
}

/** An ALPN id in a comma-separated list: escaped for the list, then for the character-string (RFC 9460 appendix A.1). */
function alpnId(reader: DnsReader): string {
  const id = reader.string();
  if (id.length === 0) throw new DnsMalformed('an ALPN id is empty');
  const inList = id.toString('latin1').replace(/[\\,]/g, '\\$&');
  return escapedBytes(Buffer.from(inList, 'latin1'), '"\\');
}

/** The value in quotes, or null if the key has no value. */
function parameterValue(key: number, value: DnsReader): string | null {
  switch (keyName(key)) {
    case 'mandatory':
      return listOf(value, (reader) => keyName(reader.u16()));
    case 'alpn':
      return listOf(value, alpnId);
    case 'no-default-alpn':
    case 'ohttp':
      if (value.left > 0) throw new DnsMalformed(`the service parameter ${keyName(key)} has a value`);
      return null;
    case 'port': {
      const port = value.u16();
      if (value.left > 0) throw new DnsMalformed('a port in a service parameter is too long');
      return `"${port}"`;
    }
    case 'ipv4hint':
      return listOf(value, (reader) => ipv4Text(reader.take(4)));
    case 'ipv6hint':
      return listOf(value, (reader) => ipv6Text(reader.take(16)));
    case 'ech':
      return `"${value.base64()}"`;
    default:
      return value.left === 0 ? null : quoted(value.rest());
  }
}

/** SVCB and HTTPS data, RFC 9460 section 2.1: priority, target, parameters with their values in quotes. */
export function readSvcb(reader: DnsReader): string {
  const parts = [String(reader.u16()), reader.name()];
  let last = -1;
  while (reader.left > 0) {
    const key = reader.u16();
    // Section 2.2: strictly increasing, so that each key occurs once.
    if (key <= last) throw new DnsMalformed('service parameters are out of order');
    last = key;
    const bytes = reader.take(reader.u16());
    const value = parameterValue(key, new DnsReader(bytes, 0, bytes.length));
    parts.push(value === null ? keyName(key) : `${keyName(key)}=${value}`);
  }
  return parts.join(' ');
}
