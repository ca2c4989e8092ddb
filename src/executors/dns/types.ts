/** Numbers of record types, classes and response codes (IANA "Domain Name System (DNS) Parameters"). */

const typeNumbers: ReadonlyMap<string, number> = new Map([
  ['A', 1],
  ['NS', 2],
  ['CNAME', 5],
  ['SOA', 6],
  ['MB', 7],
  ['MG', 8],
  ['MR', 9],
  ['NULL', 10],
  ['PTR', 12],
  ['HINFO', 13],
  ['MINFO', 14],
  ['MX', 15],
  ['TXT', 16],
  ['RP', 17],
  ['AFSDB', 18],
  ['SIG', 24],
  ['KEY', 25],
  ['AAAA', 28],
  ['LOC', 29],
  ['SRV', 33],
  ['NAPTR', 35],
  ['KX', 36],
  ['CERT', 37],
  ['DNAME', 39],
  ['OPT', 41],
  ['APL', 42],
  ['DS', 43],
  ['SSHFP', 44],
  ['IPSECKEY', 45],
  ['RRSIG', 46],
  ['NSEC', 47],
  ['DNSKEY', 48],
  ['DHCID', 49],
  ['NSEC3', 50],
  ['NSEC3PARAM', 51],
  ['TLSA', 52],
  ['SMIMEA', 53],
  ['HIP', 55],
  ['CDS', 59],
  ['CDNSKEY', 60],
  ['OPENPGPKEY', 61],
  ['CSYNC', 62],
  ['ZONEMD', 63],
  ['SVCB', 64],
  ['HTTPS', 65],
  ['SPF', 99],
  ['EUI48', 108],
  ['EUI64', 109],
  ['TSIG', 250],
  ['ANY', 255],
  ['URI', 256],
  ['CAA', 257],
]);
const typeNames = new Map([...typeNumbers].map(([name, number]) => [number, name]));

const rcodeNames: ReadonlyMap<number, string> = new Map([
  [0, 'NOERROR'],
  [1, 'FORMERR'],
  [2, 'SERVFAIL'],
  [3, 'NXDOMAIN'],
  [4, 'NOTIMP'],
  [5, 'REFUSED'],
  [6, 'YXDOMAIN'],
  [7, 'YXRRSET'],
  [8, 'NXRRSET'],
  [9, 'NOTAUTH'],
  [10, 'NOTZONE'],
  [11, 'DSOTYPENI'],
  [16, 'BADVERS'],
  [17, 'BADKEY'],
  [18, 'BADTIME'],
  [22, 'BADTRUNC'],
  [23, 'BADCOOKIE'],
]);

/** Number of a type's mnemonic; `TYPE123` works too (RFC 3597 section 5). Undefined if there is no such type. */
export function typeNumber(name: string): number | undefined {
  const known = typeNumbers.get(name);
  if (known !== undefined) return known;
  const digits = /^TYPE(\d{1,5})$/.exec(name)?.[1];
  return digits === undefined || Number(digits) > 0xffff ? undefined : Number(digits);
}

/** Mnemonic of a type; `TYPE123` if it has none. */
export function typeName(number: number): string {
  return typeNames.get(number) ?? `TYPE${number}`;
}

const classNames: ReadonlyMap<number, string> = new Map([
  [1, 'IN'],
  [2, 'CS'],
  [3, 'CH'],
  [4, 'HS'],
  [254, 'NONE'],
  [255, 'ANY'],
]);

/** Mnemonic of a class; `CLASS123` if it has none. */
export function className(number: number): string {
  return classNames.get(number) ?? `CLASS${number}`;
}

/** Mnemonic of a response code; `RCODE123` if it has none. */
export function rcodeName(number: number): string {
  return rcodeNames.get(number) ?? `RCODE${number}`;
}
