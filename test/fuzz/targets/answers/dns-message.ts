import { encode } from 'dns-packet';
import { jsonAnswer, textAnswer } from '../../../../src/executors/dns/answer.ts';
import {
  DnsMalformed,
  decodeAnswer,
  decodeMessage,
  encodeQuery,
} from '../../../../src/executors/dns/message.ts';
import { addressesOf } from '../../../../src/executors/resolve/stub.ts';

/** DNS answers of name servers: a message is read or refused as malformed, and its texts stay within bounds. */

export const name = 'dns-message';
export const maxBytes = 16 * 1024;

const query = encodeQuery({ id: 4711, name: 'shop.test', type: 1, edns: true });

/** Throws if a message is not read, and not refused as malformed. */
export function run(data: Buffer): void {
  try {
    decodeAnswer(data, query);
  } catch (error) {
    if (!(error instanceof DnsMalformed)) throw error;
  }
  try {
    const message = decodeMessage(data);
    addressesOf(message, 'shop.test', 4);
    addressesOf(message, 'shop.test', 6);
    // Compression lets a message name the same 255 bytes again and again; each name is escaped with 4 characters a byte.
    const most = 4096 + data.length * 1100;
    const text = textAnswer(message, 255);
    if (text.length > most) throw new Error(`${text.length} characters from ${data.length} bytes`);
    const json = JSON.stringify(jsonAnswer(message, 255));
    if (json.length > most * 2)
      throw new Error(`${json.length} characters of JSON from ${data.length} bytes`);
  } catch (error) {
    if (!(error instanceof DnsMalformed)) throw error;
  }
}

const soa = { mname: 'a.test', rname: 'b.test', serial: 1, refresh: 2, retry: 3, expire: 4, minimum: 5 };

export const seeds = (): Buffer[] => {
  const answers = [
    { type: 'A', name: 'shop.test', data: '10.0.0.1' },
    { type: 'AAAA', name: 'shop.test', data: '2001:db8::1' },
    { type: 'CNAME', name: 'www.shop.test', data: 'shop.test' },
    { type: 'TXT', name: 'shop.test', data: ['v=spf1 "x" \\', 'é'] },
    { type: 'MX', name: 'shop.test', data: { preference: 10, exchange: 'mail.shop.test' } },
    { type: 'SOA', name: 'shop.test', data: soa },
    {
      type: 'SRV',
      name: '_x._tcp.shop.test',
      data: { priority: 1, weight: 2, port: 3, target: 'a.shop.test' },
    },
    { type: 'CAA', name: 'shop.test', data: { flags: 0, tag: 'issue', value: 'ca.test' } },
    { type: 'PTR', name: '1.0.0.10.in-addr.arpa', data: 'shop.test' },
    {
      type: 'DS',
      name: 'shop.test',
      data: { keyTag: 1, algorithm: 8, digestType: 2, digest: Buffer.alloc(32) },
    },
    {
      type: 'RRSIG',
      name: 'shop.test',
      data: {
        typeCovered: 'A',
        algorithm: 8,
        labels: 2,
        originalTTL: 60,
        expiration: 1,
        inception: 0,
        keyTag: 1,
        signersName: 'shop.test',
        signature: Buffer.alloc(16),
      },
    },
    { type: 'NSEC', name: 'shop.test', data: { nextDomain: 'x.test', rrtypes: ['A', 'TXT', 'CAA'] } },
    {
      type: 'NAPTR',
      name: 'shop.test',
      data: { order: 1, preference: 1, flags: 'S', services: 'a', regexp: '!a!b!', replacement: 'c.test' },
    },
  ] as const;
  const whole = (list: readonly { type: string; name: string; data: unknown }[]): Buffer =>
    Buffer.from(
      encode({
        type: 'response',
        id: 4711,
        flags: 384,
        questions: [{ type: 'A', name: 'shop.test' }],
        answers: list.map((answer) => ({ ttl: 60, class: 'IN', ...answer })) as never, // each is of its own type
        additionals: [
          { type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0x8000, options: [] } as never, // fields of EDNS only
        ],
      }),
    );
  // SVCB (64), HTTPS (65), LOC (29), NSEC3 (50), TLSA (52) and SSHFP (44) in the place of an unknown type.
  const others = [64, 65, 29, 50, 52, 44, 43, 48].map((type) => {
    const bytes = whole([
      { type: 'TXT', name: 'shop.test', data: ['\x00\x01\x00\x00\x01\x00\x03\x02h2', 'é'] },
    ]);
    const at = bytes.indexOf(Buffer.from([0, 16, 0, 1, 0, 0, 0, 60]));
    bytes.writeUInt16BE(type, at);
    return bytes;
  });
  return [whole(answers), ...answers.map((answer) => whole([answer])), ...others];
};

export const dictionary = [
  Buffer.from([0xc0, 0x0c]),
  Buffer.from([0xc0, 0x00]),
  Buffer.from([0xff, 0xff]),
  Buffer.from([0x3f]),
  Buffer.from([0, 0]),
  Buffer.from([0, 41]),
  Buffer.from([0, 64, 0, 1]),
  'shop',
];
