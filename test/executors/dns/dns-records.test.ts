import { randomBytes } from 'node:crypto';
import { encode, type Answer } from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { jsonAnswer, textAnswer } from '../../../src/executors/dns/answer.ts';
import {
  decodeAnswer,
  decodeMessage,
  DnsMalformed,
  encodeQuery,
} from '../../../src/executors/dns/message.ts';
import { reverseName } from '../../../src/executors/dns/query-name.ts';
import { typeNumber } from '../../../src/executors/dns/types.ts';
import { recordTypes } from '../../../src/protocol/requests.ts';

/** One answer of `type` with these bytes as its data. */
function rawMessage(type: number, data: Buffer): Buffer {
  return encode({
    type: 'response',
    id: 7,
    questions: [{ name: 'x.example', type: 'A' }],
    // dns-packet writes UNKNOWN_n as type n with raw data; its types list the mnemonics alone.
    answers: [{ name: 'x.example', type: `UNKNOWN_${type}`, ttl: 60, data } as unknown as Answer],
  });
}

const dataOf = (message: Buffer) => jsonAnswer(decodeMessage(message), 255).Answer[0]?.data;
const hex = (text: string) => Buffer.from(text.replace(/[^0-9a-f]/g, ''), 'hex');
const name = (text: string) =>
  Buffer.concat([
    ...text.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);
const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const parameter = (key: number, value: Buffer) => Buffer.concat([u16(key), u16(value.length), value]);

describe('data in presentation form', () => {
  const encoded: [Answer, string][] = [
    [{ type: 'A', name: 'x', data: '192.0.2.1' }, '192.0.2.1'],
    [{ type: 'AAAA', name: 'x', data: '2001:db8:0:0:1:0:0:1' }, '2001:db8::1:0:0:1'],
    [{ type: 'AAAA', name: 'x', data: '::ffff:192.0.2.1' }, '::ffff:192.0.2.1'],
    [{ type: 'CNAME', name: 'x', data: 'y.example.com' }, 'y.example.com.'],
    [{ type: 'NS', name: 'x', data: 'ns1.example.com' }, 'ns1.example.com.'],
    [{ type: 'PTR', name: 'x', data: 'host.example.com' }, 'host.example.com.'],
    [{ type: 'DNAME', name: 'x', data: 'other.example' }, 'other.example.'],
    [
      { type: 'MX', name: 'x', data: { preference: 10, exchange: 'mail.example.com' } },
      '10 mail.example.com.',
    ],
    [{ type: 'MX', name: 'x', data: { preference: 0, exchange: '.' } }, '0 .'],
    [{ type: 'TXT', name: 'x', data: ['v=spf1 -all'] }, 'v=spf1 -all'],
    [
      { type: 'TXT', name: 'x', data: [Buffer.from('v=DKIM1; p="a'), Buffer.from('b\\" ü')] },
      'v=DKIM1; p="ab\\" ü',
    ],
    [{ type: 'TXT', name: 'x', data: [Buffer.from([0xff, 0x41, 0x0a])] }, '\\255A\\010'],
    [
      {
        type: 'SOA',
        name: 'x',
        data: {
          mname: 'ns.example.com',
          rname: 'admin.example.com',
          serial: 1,
          refresh: 2,
          retry: 3,
          expire: 4,
          minimum: 4_294_967_295,
        },
      },
      'ns.example.com. admin.example.com. 1 2 3 4 4294967295',
    ],
    [
      { type: 'SRV', name: 'x', data: { priority: 1, weight: 2, port: 443, target: 'h.example' } },
      '1 2 443 h.example.',
    ],
    [
      { type: 'CAA', name: 'x', data: { flags: 0, tag: 'issue', value: 'ca.example' } },
      '0 issue "ca.example"',
    ],
    [{ type: 'HINFO', name: 'x', data: { cpu: 'ARM "64"', os: 'Linux' } }, '"ARM \\"64\\"" "Linux"'],
    [
      { type: 'RP', name: 'x', data: { mbox: 'admin.example', txt: 'info.example' } },
      'admin.example. info.example.',
    ],
    [
      {
        type: 'NAPTR',
        name: 'x',
        data: {
          order: 100,
          preference: 10,
          flags: 'u',
          services: 'E2U+sip',
          regexp: '!^.*$!sip:i@example.com!',
          replacement: '.',
        },
      },
      '100 10 "u" "E2U+sip" "!^.*$!sip:i@example.com!" .',
    ],
    [
      {
        type: 'DS',
        name: 'x',
        data: {
          keyTag: 60485,
          algorithm: 5,
          digestType: 1,
          digest: hex('2bb183af5f22588179a53b0a98631fad1a292118'),
        },
      },
      '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118',
    ],
    [
      { type: 'DNSKEY', name: 'x', data: { flags: 257, algorithm: 13, key: Buffer.from('key') } },
      '257 3 13 a2V5',
    ],
    [
      {
        type: 'RRSIG',
        name: 'x',
        data: {
          typeCovered: 'A',
          algorithm: 5,
          labels: 3,
          originalTTL: 86_400,
          expiration: 1_048_354_263,
          inception: 1_045_762_263,
          keyTag: 2642,
          signersName: 'example.com',
          signature: Buffer.from('sig'),
        },
      },
      'A 5 3 86400 20030322173103 20030220173103 2642 example.com. c2ln',
    ],
    [
      {
        type: 'NSEC',
        name: 'x',
        data: { nextDomain: 'host.example.com', rrtypes: ['A', 'MX', 'RRSIG', 'NSEC', 'UNKNOWN_1234'] },
      },
      'host.example.com. A MX RRSIG NSEC TYPE1234',
    ],
    [
      {
        type: 'NSEC3',
        name: 'x',
        data: {
          algorithm: 1,
          flags: 1,
          iterations: 12,
          salt: hex('aabbccdd'),
          nextDomain: hex('174eb2409fe28bcb4887a1836f957f0a8425e27b'),
          rrtypes: ['A', 'RRSIG'],
        },
      },
      '1 1 12 AABBCCDD 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A RRSIG',
    ],
    [
      {
        type: 'TLSA',
        name: 'x',
        data: { usage: 3, selector: 1, matchingType: 1, certificate: hex('0d6fce') },
      },
      '3 1 1 0D6FCE',
    ],
    [
      { type: 'SSHFP', name: 'x', data: { algorithm: 4, hash: 2, fingerprint: 'ab'.repeat(32) } },
      `4 2 ${'AB'.repeat(32)}`,
    ],
  ];
  test.each(encoded.map(([answer, expected]) => [answer.type, answer, expected] as const))(
    '%s',
    (_type, answer, expected) => {
      expect(dataOf(encode({ type: 'response', answers: [answer] }))).toBe(expected);
    },
  );

  const raw: [string, Buffer, string][] = [
    ['HTTPS', Buffer.concat([u16(0), name('svc.example.net')]), '0 svc.example.net.'],
    [
      'HTTPS',
      Buffer.concat([
        u16(1),
        Buffer.from([0]),
        parameter(1, Buffer.from('\x02h3\x02h2', 'latin1')),
        parameter(4, Buffer.from([192, 0, 2, 1, 192, 0, 2, 2])),
        parameter(5, Buffer.from('ech')),
        parameter(6, hex('20010db8000000000000000000000001')),
      ]),
      '1 . alpn="h3,h2" ipv4hint="192.0.2.1,192.0.2.2" ech="ZWNo" ipv6hint="2001:db8::1"',
    ],
    [
      'SVCB',
      Buffer.concat([
        u16(16),
        name('foo.example.org'),
        parameter(0, Buffer.concat([u16(1), u16(4)])),
        // RFC 9460 appendix D.2: the ids `f\oo,bar` and `h2`.
        parameter(1, Buffer.from('\x08f\\oo,bar\x02h2', 'latin1')),
        parameter(2, Buffer.alloc(0)),
        parameter(3, u16(53)),
        parameter(4, Buffer.from([192, 0, 2, 1])),
        parameter(7, Buffer.from('/dns-query{?dns}')),
        parameter(667, Buffer.from('hello\xd2qoo', 'latin1')),
      ]),
      '16 foo.example.org. mandatory="alpn,ipv4hint" alpn="f\\\\\\\\oo\\\\,bar,h2" no-default-alpn port="53" ipv4hint="192.0.2.1" dohpath="/dns-query{?dns}" key667="hello\\210qoo"',
    ],
    [
      'URI',
      Buffer.concat([u16(10), u16(1), Buffer.from('ftp://ftp.example.com/"x"')]),
      '10 1 "ftp://ftp.example.com/\\"x\\""',
    ],
    // RFC 1876 section 4, cambridge-net.kei.com: 42 21 54 N 71 06 18 W -24m 30m.
    [
      'LOC',
      Buffer.concat([Buffer.from([0, 0x33, 0x16, 0x13]), hex('89172dd0 70be15f0 00988d20')]),
      '42 21 54.000 N 71 6 18.000 W -24.00m 30m 10000m 10m',
    ],
    ['CERT', Buffer.concat([u16(1), u16(2), Buffer.from([5]), Buffer.from('crt')]), '1 2 5 Y3J0'],
    ['NSEC3PARAM', hex('01 00 0000 00'), '1 0 0 -'],
    ['TYPE65400', hex('c0ffee'), '\\# 3 c0ffee'],
    ['NULL', Buffer.alloc(0), '\\# 0'],
    ['CNAME', Buffer.from('\x04a.\\b\x01 \x00', 'latin1'), 'a\\.\\\\b.\\032.'],
  ];
  test.each(raw)('%s', (type, data, expected) => {
    expect(dataOf(rawMessage(typeNumber(type) ?? -1, data))).toBe(expected);
  });

  test.each([
    ['A', hex('c00002')],
    ['A', hex('c000020101')],
    ['AAAA', hex('c0000201')],
    ['MX', hex('000a')],
    ['TXT', hex('05 61')],
    ['SOA', name('a.b')],
    ['CAA', hex('00 09 61')],
    ['NSEC', Buffer.concat([name('a'), hex('00 00')])],
    ['LOC', Buffer.concat([Buffer.from([0, 0xaa, 0x16, 0x13]), Buffer.alloc(12)])],
    ['HTTPS', Buffer.concat([u16(1), Buffer.from([0]), parameter(4, Buffer.from([1, 2, 3]))])],
    [
      'HTTPS',
      Buffer.concat([u16(1), Buffer.from([0]), parameter(3, u16(1)), parameter(1, Buffer.from('\x02h2'))]),
    ],
    ['HTTPS', Buffer.concat([u16(1), Buffer.from([0]), parameter(1, Buffer.alloc(0))])],
    ['HTTPS', Buffer.concat([u16(1), Buffer.from([0]), u16(1), u16(9)])],
  ])('%s data that do not fit', (type, data) => {
    const message = decodeMessage(rawMessage(typeNumber(type) ?? -1, data));
    expect(() => jsonAnswer(message, 255)).toThrow(DnsMalformed);
    // As text, other sections' bad data are shown as bytes.
    expect(textAnswer(message, 255)).toContain(`\\# ${data.length} `);
  });

  test('every record type that a check may ask for has a number', () => {
    expect(recordTypes.filter((type) => typeNumber(type) === undefined)).toEqual([]);
    expect(encodeQuery({ id: 0x1234, name: 'a.example', type: 65, edns: false }).bytes.toString('hex')).toBe(
      '123401000001000000000000' + '0161076578616d706c6500' + '00410001',
    );
  });
});

describe('answers', () => {
  const signature: Answer = {
    type: 'RRSIG',
    name: 'x.example',
    data: {
      typeCovered: 'A',
      algorithm: 13,
      labels: 2,
      originalTTL: 60,
      expiration: 1,
      inception: 0,
      keyTag: 1,
      signersName: 'example',
      signature: Buffer.from('s'),
    },
  };
  const signed = encode({
    type: 'response',
    questions: [{ name: 'x.example', type: 'A' }],
    answers: [{ type: 'A', name: 'x.example', ttl: 60, data: '192.0.2.1' }, signature],
    authorities: [{ type: 'NS', name: 'example', ttl: 60, data: 'ns.example' }, signature],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 1232,
        flags: 0x8000,
        flag_do: true,
        extendedRcode: 1,
        ednsVersion: 0,
        options: [],
      },
    ],
  });

  test('signatures that were not requested are omitted; the rcode has its upper bits', () => {
    const message = decodeMessage(signed);
    expect(jsonAnswer(message, 1)).toMatchObject({
      Answer: [{ name: 'x.example.', type: 'A', TTL: 60, data: '192.0.2.1' }],
      Status: 'BADVERS',
    });
    expect(jsonAnswer(message, 46).Answer).toHaveLength(2);
    expect(jsonAnswer(message, 255).Answer).toHaveLength(2);
    expect(textAnswer(message, 1)).toBe(
      [
        ';; ->>HEADER<<- opcode: QUERY, status: BADVERS, id: 0',
        ';; flags: qr; QUERY: 1, ANSWER: 1, AUTHORITY: 1, ADDITIONAL: 1',
        '',
        ';; OPT PSEUDOSECTION:',
        '; EDNS: version: 0, flags: do; udp: 1232',
        '',
        ';; QUESTION SECTION:',
        ';x.example.\tIN\tA',
        '',
        ';; ANSWER SECTION:',
        'x.example.\t60\tIN\tA\t192.0.2.1',
        '',
        ';; AUTHORITY SECTION:',
        'example.\t60\tIN\tNS\tns.example.',
      ].join('\n'),
    );
  });

  test('a question in other letters is the same question', () => {
    const query = encodeQuery({ id: 5, name: 'X.example', type: 1, edns: true });
    const answer = encode({ type: 'response', id: 5, questions: [{ name: 'x.EXAMPLE', type: 'A' }] });
    expect(decodeAnswer(answer, query)).toHaveProperty('answer');
  });

  test('a truncated answer may end within a record', () => {
    const query = encodeQuery({ id: 0, name: 'x.example', type: 1, edns: true });
    const cut = Buffer.from(signed.subarray(0, 40));
    cut.writeUInt16BE(cut.readUInt16BE(2) | 0x0200, 2);
    expect(decodeAnswer(cut, query)).toMatchObject({ answer: { flags: { tc: true }, answers: [] } });
  });

  test('random damage is recognised, and no other error is thrown', () => {
    const query = encodeQuery({ id: 0, name: 'x.example', type: 1, edns: true });
    let decoded = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const [a = 0, b = 0, c = 0, d = 0] = randomBytes(4);
      const damaged = Buffer.from(signed);
      damaged[a % signed.length] = b;
      if (c < 128) damaged[d % signed.length] = c;
      try {
        const result = decodeAnswer(c % 5 === 0 ? damaged.subarray(0, d) : damaged, query);
        if ('mismatch' in result) continue;
        jsonAnswer(result.answer, 1);
        textAnswer(result.answer, 1);
        decoded += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(DnsMalformed);
      }
    }
    expect(decoded).toBeGreaterThan(0);
  });

  test('long names through pointers stay within 255 bytes', () => {
    // Labels of 60 bytes, each name pointing at the one before: the fifth would be too long.
    const header = hex('0000 8000 0000 0006 0000 0000');
    const records: Buffer[] = [];
    let at = 12;
    let before: number | null = null;
    for (let i = 0; i < 6; i += 1) {
      const label = Buffer.concat([Buffer.from([60]), Buffer.alloc(60, 'a')]);
      const owner = Buffer.concat([label, before === null ? Buffer.from([0]) : u16(0xc000 + before)]);
      const record = Buffer.concat([owner, hex('0001 0001 00000000 0004 00000000')]);
      before = at;
      at += record.length;
      records.push(record);
    }
    expect(() => decodeMessage(Buffer.concat([header, ...records]))).toThrow('longer than 255');
  });
});

test.each([
  ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
  ['::1', `${'1' + '.0'.repeat(31)}.ip6.arpa`],
  ['::', `0${'.0'.repeat(31)}.ip6.arpa`],
  ['1:2:3:4:5:6:7:8', '8.0.0.0.7.0.0.0.6.0.0.0.5.0.0.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.ip6.arpa'],
  ['::ffff:192.0.2.1', '1.0.2.0.0.0.0.c.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa'],
])('reverse name of %s', (address, expected) => {
  expect(reverseName(address)).toBe(expected);
});
