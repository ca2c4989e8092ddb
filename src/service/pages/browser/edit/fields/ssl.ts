import { alertSection } from './alerts.ts';
import { assertionRow } from './assertions.ts';
import { certificateRow, phaseRows } from './http.ts';
import { limitRows } from './limits.ts';
import { named, type Body, type Row, type Section } from './row.ts';
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

/** The form of SSL checks. */

const config = 'request.sslConfig';
const configOf = (body: Body) => {
  const request = body['request'] as { sslConfig?: { [field: string]: unknown } } | undefined;
  return request?.sslConfig ?? {};
};
const baselineRuns = (body: Body) =>
  (configOf(body)['securityBaseline'] as { enabled?: unknown } | undefined)?.enabled !== false;

const severities = [
  { value: 'fail', title: 'The run fails' },
  { value: 'degrade', title: 'The run is degraded' },
  { value: 'ignore', title: 'It is only shown' },
];
const severity = (rule: string, label: string, value: 'fail' | 'ignore'): Row => ({
  path: `${config}.securityBaseline.${rule}.severity`,
  label,
  kind: 'choice',
  choices: severities,
  default: value,
  when: baselineRuns,
});
const version = (rule: string, label: string, value: string): Row => ({
  path: `${config}.securityBaseline.${rule}.value`,
  label,
  kind: 'choice',
  choices: named('TLS1.2', 'TLS1.3'),
  default: value,
  when: baselineRuns,
});
const keySize = (rule: string, label: string, value: number): Row => ({
  path: `${config}.securityBaseline.${rule}.value`,
  label,
  kind: 'number',
  unit: 'bits',
  min: 1024,
  max: 16_384,
  default: value,
  when: baselineRuns,
});

const baselineRows: readonly Row[] = [
  {
    path: `${config}.securityBaseline.enabled`,
    label: 'Judge the security of the connection',
    kind: 'switch',
    default: true,
  },
  version('minTLSVersion', 'Lowest TLS version', 'TLS1.2'),
  severity('minTLSVersion', 'With a lower version', 'fail'),
  keySize('minKeySizeBits', 'Smallest key', 2048),
  severity('minKeySizeBits', 'With a smaller key', 'fail'),
  severity('weakSignatureAlgorithm', 'With a weak signature (SHA-1, MD5)', 'fail'),
  severity('weakCipherSuite', 'With a weak cipher suite', 'fail'),
  severity('knownBadCA', 'With an authority that browsers distrust', 'fail'),
  version('recommendedTLSVersion', 'Recommended TLS version', 'TLS1.3'),
  severity('recommendedTLSVersion', 'Below the recommended version', 'ignore'),
  keySize('recommendedKeySizeBits', 'Recommended key', 3072),
  severity('recommendedKeySizeBits', 'Below the recommended key', 'ignore'),
  severity('ocspMustStapleRespected', 'Without a stapled answer that the certificate demands', 'ignore'),
  severity('sctPresent', 'Without a certificate timestamp (SCT)', 'ignore'),
];

export const sslSections: readonly Section[] = [
  {
    title: 'Connection',
    rows: [
      nameRow,
      {
        path: `${config}.hostname`,
        label: 'Host name or IP address',
        kind: 'text',
        empty: '',
        max: 2048,
        required: true,
        placeholder: 'shop.example',
      },
      { path: `${config}.port`, label: 'Port', kind: 'number', min: 1, max: 65_535, default: 443 },
      {
        path: `${config}.startTls`,
        label: 'Begins with',
        kind: 'choice',
        choices: [
          { value: null, title: 'TLS from the first byte' },
          { value: 'SMTP', title: 'SMTP, then STARTTLS' },
          { value: 'IMAP', title: 'IMAP, then STARTTLS' },
          { value: 'POP3', title: 'POP3, then STLS' },
          { value: 'FTP', title: 'FTP, then AUTH TLS' },
          { value: 'LDAP', title: 'LDAP, then StartTLS' },
          { value: 'POSTGRESQL', title: 'PostgreSQL, then TLS' },
        ],
        default: null,
      },
      {
        path: `${config}.serverName`,
        label: 'Name in the certificate',
        kind: 'text',
        empty: null,
        max: 2048,
        default: null,
        hint: 'Empty = the host name.',
      },
      {
        path: `${config}.ipFamily`,
        label: 'IP version',
        kind: 'choice',
        choices: named('IPv4', 'IPv6'),
        default: 'IPv4',
      },
      {
        path: `${config}.handshakeTimeoutMs`,
        label: 'Time for lookup, connection and handshake',
        kind: 'number',
        unit: 'ms',
        min: 1000,
        max: 30_000,
        default: 10_000,
      },
    ],
  },
  {
    title: 'Certificates',
    rows: [
      {
        path: `${config}.alertDaysBeforeExpiry`,
        label: 'Degraded before the expiry',
        kind: 'number',
        unit: 'days',
        min: 1,
        max: 365,
        default: 20,
        hint: 'The first certificate of the chain that expires counts.',
      },
      {
        path: `${config}.failDaysBeforeExpiry`,
        label: 'Failed before the expiry',
        kind: 'number',
        unit: 'days',
        min: 0,
        max: 365,
        default: 0,
        hint: '0 = only when it has expired.',
      },
      {
        path: `${config}.skipChainValidation`,
        label: 'Accept a chain that is not trusted',
        kind: 'switch',
        default: false,
      },
      {
        path: `${config}.revocation`,
        label: 'Revocation',
        kind: 'choice',
        choices: [
          { value: 'stapled', title: 'What the server sends' },
          { value: 'ocsp', title: 'Also ask the authority (OCSP)' },
          { value: 'crl', title: "Also read the authority's list (CRL)" },
        ],
        default: 'stapled',
      },
      {
        path: `${config}.clientCertificateMode`,
        label: 'Client certificate',
        kind: 'choice',
        choices: [
          { value: null, title: 'None' },
          { value: 'auto', title: 'The stored one for this host' },
          { value: 'explicit', title: 'One that you choose' },
        ],
        default: null,
      },
      {
        path: 'request.sslClientCertificateId',
        label: 'Which client certificate',
        kind: 'pick',
        from: 'certificates',
        none: 'Choose a certificate',
        default: null,
        hint: 'Those under Settings, Client certificates.',
        when: (body) => configOf(body)['clientCertificateMode'] === 'explicit',
      },
    ],
  },
  {
    title: 'Security',
    isFolded: true,
    rows: [
      {
        path: `${config}.scan`,
        label: 'Also find out which old versions and weak suites it accepts',
        kind: 'switch',
        default: false,
        hint: 'At most 12 more connections for each run.',
      },
      ...baselineRows,
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('SSL'), ...limitRows({ degraded: 3000, max: 10_000, maximum: 30_000 })],
  },
  { title: 'Where and when it runs', rows: [...frequencyRows(0), ...locationRows, runParallel] },
  { title: 'Retries and expected failures', isFolded: true, rows: [...retryRows(false), shouldFail] },
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificateRow, runtimeRow, scriptPath, ...phaseRows] },
  generalSection(),
];
