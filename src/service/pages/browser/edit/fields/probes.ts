import { alertSection } from './alerts.ts';
import { assertionRow } from './assertions.ts';
import { certificateRow, phaseRows } from './http.ts';
import { limitRows, packetLossRows } from './limits.ts';
import { named, type Row, type Section } from './row.ts';
import {
  frequencyRows,
  generalSection,
  locationRows,
  nameRow,
  retryRows,
  runParallel,
  runtimeRow,
  scriptPath,
  shouldFail,
  variables,
} from './shared.ts';

/** The forms of TCP, DNS and ICMP checks. */

const hostname: Row = {
  path: 'request.hostname',
  label: 'Host name or IP address',
  kind: 'text',
  empty: '',
  max: 2048,
  required: true,
};
const ipFamily: Row = {
  path: 'request.ipFamily',
  label: 'IP version',
  kind: 'choice',
  choices: named('IPv4', 'IPv6'),
  default: 'IPv4',
};

/** What follows the request and its limits in each of these forms. */
const rest = (certificate: Row): readonly Section[] => [
  { title: 'Where and when it runs', rows: [...frequencyRows(0), ...locationRows, runParallel] },
  { title: 'Retries and expected failures', isFolded: true, rows: [...retryRows(false), shouldFail] },
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificate, runtimeRow, scriptPath, ...phaseRows] },
  generalSection(),
];

export const tcpSections: readonly Section[] = [
  {
    title: 'Connection',
    rows: [
      nameRow,
      hostname,
      { path: 'request.port', label: 'Port', kind: 'number', min: 1, max: 65_535, required: true },
      ipFamily,
      {
        path: 'request.data',
        label: 'Data to send',
        kind: 'area',
        empty: null,
        max: 65_536,
        default: null,
        hint: 'Empty = only the connection is checked.',
        isWide: true,
      },
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('TCP'), ...limitRows({ degraded: 3000, max: 5000, maximum: 5000 })],
  },
  ...rest(certificateRow),
];

const isSecure = (body: { readonly [field: string]: unknown }) =>
  ['DOT', 'DOH'].includes(String((body['request'] as { protocol?: unknown } | undefined)?.protocol));

const recordTypes =
  'A AAAA CNAME MX TXT SOA NS HTTPS SVCB SRV PTR CAA DS DNSKEY RRSIG NSEC NSEC3 TLSA SSHFP NAPTR DNAME HINFO RP LOC URI ANY';

export const dnsSections: readonly Section[] = [
  {
    title: 'Query',
    rows: [
      nameRow,
      {
        path: 'request.query',
        label: 'Name to look up',
        kind: 'text',
        empty: '',
        max: 253,
        required: true,
        placeholder: 'shop.example',
      },
      {
        path: 'request.recordType',
        label: 'Record type',
        kind: 'choice',
        choices: named(...recordTypes.split(' ')),
        default: 'A',
      },
      {
        path: 'request.nameServer',
        label: 'Name server',
        kind: 'text',
        empty: null,
        max: 2048,
        default: null,
        hint: "Empty = the agent's own name servers. With DNS over HTTPS also a URL.",
      },
      {
        path: 'request.port',
        label: 'Port',
        kind: 'number',
        min: 1,
        max: 65_535,
        empty: null,
        default: null,
        hint: 'Empty = the usual port of the protocol.',
      },
      {
        path: 'request.protocol',
        label: 'Protocol',
        kind: 'choice',
        choices: [
          ...named('UDP', 'TCP'),
          { value: 'DOT', title: 'DNS over TLS' },
          { value: 'DOH', title: 'DNS over HTTPS' },
        ],
        default: 'UDP',
      },
      {
        path: 'request.skipSSL',
        label: 'Accept any certificate',
        kind: 'switch',
        default: false,
        when: isSecure,
      },
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('DNS'), ...limitRows({ degraded: 500, max: 1000, maximum: 5000 })],
  },
  ...rest({ ...certificateRow, kind: 'text', empty: '', default: '' }),
];

export const icmpSections: readonly Section[] = [
  {
    title: 'Ping',
    rows: [
      nameRow,
      hostname,
      ipFamily,
      { path: 'request.pingCount', label: 'Pings', kind: 'number', min: 1, max: 50, default: 10 },
    ],
  },
  {
    title: 'What must hold',
    rows: [
      assertionRow('ICMP'),
      ...limitRows({ degraded: 10_000, max: 20_000, maximum: 30_000 }),
      ...packetLossRows,
    ],
  },
  ...rest(certificateRow),
];
