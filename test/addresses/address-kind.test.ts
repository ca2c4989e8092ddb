import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { kindOfAddress, meaningsOf, type AddressKind } from '../../src/addresses/address-kind.ts';
import { specialIpv4, specialIpv6 } from '../../src/addresses/special-networks.ts';

/** The one table of addresses, with every IPv6 form that carries an IPv4 address. */

const hex = (ipv4: string) =>
  ipv4
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('');
/** `aabbccdd` as two groups. */
const groups = (digits: string) => `${digits.slice(0, 4)}:${digits.slice(4)}`;
const inverted = (digits: string) => (0xffffffff - parseInt(digits, 16)).toString(16).padStart(8, '0');

/** The IPv6 addresses that reach `ipv4` through a gateway, a tunnel or the operating system. */
const formsOf = (ipv4: string) => {
  const digits = hex(ipv4);
  const d = (from: number, to: number) => digits.slice(from, to);
  return {
    mapped: `::ffff:${ipv4}`,
    'mapped, in hexadecimal': `0:0:0:0:0:ffff:${groups(digits)}`,
    translated: `::ffff:0:${ipv4}`,
    compatible: `::${groups(digits)}`,
    NAT64: `64:ff9b::${groups(digits)}`,
    'local NAT64, prefix of 96 bits': `64:ff9b:1:2:0:3:${groups(digits)}`,
    'local NAT64, prefix of 64 bits': `64:ff9b:1:2:00${d(0, 2)}:${d(2, 6)}:${d(6, 8)}00:0`,
    'local NAT64, prefix of 56 bits': `64:ff9b:1:02${d(0, 2)}:00${d(2, 4)}:${d(4, 8)}:0:0`,
    'local NAT64, prefix of 48 bits': `64:ff9b:1:${d(0, 4)}:00${d(4, 6)}:${d(6, 8)}00:0:0`,
    '6to4': `2002:${groups(digits)}:1::1`,
    'Teredo server': `2001:0:${groups(digits)}:0:0:${groups(inverted(hex('93.184.216.34')))}`,
    'Teredo client': `2001:0:${groups(hex('93.184.216.34'))}:0:0:${groups(inverted(digits))}`,
    ISATAP: `2606:4700::5efe:${groups(digits)}`,
    'ISATAP with the universal bit': `2606:4700::200:5efe:${groups(digits)}`,
  };
};

const carried: readonly (readonly [ipv4: string, kind: AddressKind])[] = [
  ['93.184.216.34', 'public'],
  ['127.0.0.1', 'private'],
  ['10.1.2.3', 'private'],
  ['192.168.77.9', 'private'],
  ['169.254.169.254', 'never'],
  ['100.100.100.200', 'never'],
  ['168.63.129.16', 'never'],
];

test.each(
  carried.flatMap(([ipv4, kind]) =>
    Object.entries(formsOf(ipv4)).map(([form, address]) => [ipv4, form, address, kind] as const),
  ),
)('%s as %s (%s) is %s', (_ipv4, _form, address, kind) => {
  expect(kindOfAddress(address)).toBe(kind);
});

test.each<[address: string, kind: AddressKind]>([
  ['93.184.216.34', 'public'],
  ['168.63.129.15', 'public'],
  ['168.63.129.16', 'never'],
  ['2606:4700::1111', 'public'],
  ['2001:4860:4860::8888', 'public'],
  ['fd20:ce::254', 'never'],
  ['fd20:ce::253', 'private'],
  ['fd00:ec2::254', 'never'],
  ['fd00:ec2::23', 'never'],
  ['fd00:c1::a9fe:a9fe', 'never'],
  ['fd00:42::42', 'never'],
  ['fe80::1', 'never'],
  ['fe80::1%eth0', 'never'],
  ['fe80::a9fe:a9fe', 'never'],
  ['ff02::1', 'never'],
  ['fec0::1', 'private'],
  ['4000::1', 'private'],
  ['::', 'private'],
  ['::1', 'private'],
  ['0.0.0.0', 'private'],
  ['0.1.2.3', 'private'],
  ['255.255.255.255', 'never'],
  ['254.1.1.1', 'private'],
  // Other spellings that system resolvers accept.
  ['0x7f.1', 'private'],
  ['2852039166', 'never'],
  ['0251.0376.0251.0376', 'never'],
  ['nonsense', 'never'],
  ['', 'never'],
  ['10.0.0.0/8', 'never'],
])('%s is %s', (address, kind) => {
  expect(kindOfAddress(address)).toBe(kind);
});

test('the meanings of an address name what it reaches', () => {
  expect(meaningsOf('64:ff9b::a00:1')).toEqual([{ address: '10.0.0.1', range: 'private' }]);
  expect(meaningsOf('::1')).toEqual([{ address: '::1', range: 'loopback' }]);
  expect(meaningsOf('0.0.0.0')).toEqual([{ address: '0.0.0.0', range: 'loopback' }]);
  expect(meaningsOf('2606:4700::5efe:7f00:1')).toEqual([
    { address: '2606:4700::5efe:7f00:1', range: 'public' },
    { address: '127.0.0.1', range: 'loopback' },
  ]);
  expect(meaningsOf('host.example')).toEqual([]);
});

test('every row of the tables is reached', () => {
  for (const [network, range] of [...specialIpv4, ...specialIpv6]) {
    // The first address of a network may be in a smaller network of its own.
    const [first = ''] = network.split('/');
    const next = ipaddr.parse(first).toByteArray();
    next[next.length - 1] = (next.at(-1) ?? 0) ^ 1;
    const found = [first, ipaddr.fromByteArray(next).toString()].flatMap(meaningsOf);
    expect(
      found.map((meaning) => meaning.range),
      network,
    ).toContain(range);
  }
});
