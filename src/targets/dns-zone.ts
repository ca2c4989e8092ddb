import type { Answer } from 'dns-packet';

/** One record as dns-packet takes it, without its name. HTTPS and SVCB data are bytes: see `serviceBinding`. */
export type ZoneRecord = { type: string; ttl?: number; data: unknown };

/** The server's behaviour for one name. */
export type ZoneName = {
  records?: readonly ZoneRecord[];
  /** 0 NOERROR, 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED… */
  rcode?: number;
  /** Delay of the answer. */
  delayMs?: number;
  /** Over UDP: an empty answer with the TC bit, so that the client retries over TCP. */
  truncated?: boolean;
  /** Sets the AD bit. */
  authentic?: boolean;
  /** Never answers. */
  silent?: boolean;
  /** Sends these bytes after the query's id instead of a message. */
  garbage?: Uint8Array;
};

export type Zone = { readonly [name: string]: ZoneName };

/** Data of an HTTPS or SVCB record (RFC 9460 section 2.2). A target of "." means the owner's own name. */
export function serviceBinding(
  priority: number,
  target: string,
  parameters: readonly [number, Uint8Array][],
): Buffer {
  const name = target === '.' ? [] : target.split('.').filter((label) => label !== '');
  return Buffer.concat([
    uint16(priority),
    ...name.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'ascii')]),
    Buffer.from([0]),
    ...parameters.flatMap(([key, value]) => [uint16(key), uint16(value.length), value]),
  ]);
}

/** Value of the alpn parameter (key 1). */
export function alpn(...protocols: string[]): Buffer {
  return Buffer.concat(protocols.flatMap((name) => [Buffer.from([name.length]), Buffer.from(name, 'ascii')]));
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

const soa: ZoneRecord = {
  type: 'SOA',
  ttl: 3600,
  data: {
    mname: 'ns1.sample.test',
    rname: 'hostmaster.sample.test',
    serial: 2026010101,
    refresh: 7200,
    retry: 900,
    expire: 1_209_600,
    minimum: 60,
  },
};

/** The sample names, all below the reserved top level "test". */
export const sampleZone: Zone = {
  'sample.test': {
    records: [
      { type: 'A', data: '127.0.0.1' },
      { type: 'AAAA', data: '::1' },
      soa,
      { type: 'NS', data: 'ns1.sample.test' },
      { type: 'MX', data: { preference: 10, exchange: 'mail.sample.test' } },
      { type: 'MX', data: { preference: 20, exchange: 'backup.sample.test' } },
      { type: 'TXT', data: 'v=spf1 -all' },
      { type: 'CAA', data: { flags: 0, tag: 'issue', value: 'ca.sample.test' } },
      {
        type: 'HTTPS',
        data: serviceBinding(1, '.', [
          [1, alpn('h3', 'h2')],
          [4, Buffer.from([127, 0, 0, 1])],
        ]),
      },
    ],
  },
  'ns1.sample.test': { records: [{ type: 'A', data: '127.0.0.1' }] },
  'mail.sample.test': { records: [{ type: 'A', data: '127.0.0.1' }] },
  'www.sample.test': { records: [{ type: 'CNAME', data: 'sample.test' }] },
  'many.sample.test': {
    records: Array.from({ length: 40 }, (_, index) => ({ type: 'A', data: `127.0.1.${index + 1}` })),
  },
  'long.sample.test': {
    records: [{ type: 'TXT', data: Array.from({ length: 20 }, (_, index) => `${index} `.padEnd(200, 'x')) }],
  },
  'secure.sample.test': { records: [{ type: 'A', data: '127.0.0.1' }], authentic: true },
  'slow.sample.test': { records: [{ type: 'A', data: '127.0.0.1' }], delayMs: 700 },
  'servfail.sample.test': { rcode: 2 },
  'refused.sample.test': { rcode: 5 },
  'silent.sample.test': { silent: true },
  'truncated.sample.test': { records: [{ type: 'A', data: '127.0.0.1' }], truncated: true },
  'garbage.sample.test': { garbage: Buffer.from('not a message') },
};

/** The authority section of answers without records. */
export const zoneAuthority = { ...soa, name: 'sample.test' } as Answer; // ZoneRecord leaves the type open
