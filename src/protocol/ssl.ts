import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from './schema.ts';

/** The settings of SSL checks (facts, sections 1.1 and 1.2). */

/** Protocols that begin in plain text and continue with TLS. */
export const startTlsProtocols = ['SMTP', 'IMAP', 'POP3', 'FTP', 'LDAP', 'POSTGRESQL'] as const;
export type StartTlsProtocol = (typeof startTlsProtocols)[number];

const severityOf = (severity: 'fail' | 'ignore') =>
  StringEnum(['fail', 'degrade', 'ignore'], {
    default: severity,
    description: 'The effect of a violation on the run. An ignored rule is only shown.',
  });
const version = (value: 'TLS1.2' | 'TLS1.3', severity: 'fail' | 'ignore') =>
  Type.Object(
    { value: StringEnum(['TLS1.2', 'TLS1.3'], { default: value }), severity: severityOf(severity) },
    { default: { value, severity } },
  );
const keySize = (value: number, severity: 'fail' | 'ignore') =>
  Type.Object(
    {
      value: Type.Integer({ minimum: 1024, maximum: 16_384, default: value }),
      severity: severityOf(severity),
    },
    { default: { value, severity } },
  );
const rule = (severity: 'fail' | 'ignore') =>
  Type.Object({ severity: severityOf(severity) }, { default: { severity } });

export const SecurityBaseline = Type.Object({
  enabled: Type.Boolean({ default: true, description: 'False: no rule runs.' }),
  minTLSVersion: version('TLS1.2', 'fail'),
  minKeySizeBits: keySize(2048, 'fail'),
  weakSignatureAlgorithm: rule('fail'),
  weakCipherSuite: rule('fail'),
  knownBadCA: rule('fail'),
  recommendedTLSVersion: version('TLS1.3', 'ignore'),
  recommendedKeySizeBits: keySize(3072, 'ignore'),
  ocspMustStapleRespected: rule('ignore'),
  sctPresent: rule('ignore'),
});
export type SecurityBaseline = Static<typeof SecurityBaseline>;

export const SslConfig = Type.Object({
  hostname: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'Host name or address, without scheme and port.',
  }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, default: 443 }),
  serverName: Nullable(Type.String({ maxLength: 2048 }), {
    default: null,
    description: 'Name for SNI, which the certificate must carry. Null or empty = hostname.',
  }),
  ipFamily: StringEnum(['IPv4', 'IPv6'], { default: 'IPv4' }),
  startTls: Nullable(StringEnum(startTlsProtocols), {
    default: null,
    description: 'The protocol that is spoken before TLS begins. Null = TLS from the first byte.',
  }),
  skipChainValidation: Type.Boolean({
    default: false,
    description: 'True: a chain that is not trusted is no failure.',
  }),
  handshakeTimeoutMs: Type.Integer({ minimum: 1000, maximum: 30_000, default: 10_000 }),
  alertDaysBeforeExpiry: Type.Integer({
    minimum: 1,
    maximum: 365,
    default: 20,
    description: 'The run is degraded from that many days before the first certificate of the chain expires.',
  }),
  failDaysBeforeExpiry: Type.Integer({
    minimum: 0,
    maximum: 365,
    default: 0,
    description: 'The run fails from that many days before the expiry; 0 = only when it has expired.',
  }),
  revocation: StringEnum(['stapled', 'ocsp', 'crl'], {
    default: 'stapled',
    description:
      'stapled: only what the server sends. ocsp: without it, asks the authority. crl: also reads its list.',
  }),
  scan: Type.Boolean({
    default: false,
    description:
      'True: tries with at most 12 more connections which old versions and weak suites the server accepts.',
  }),
  clientCertificateMode: Nullable(StringEnum(['auto', 'explicit']), {
    default: null,
    description: 'auto: the stored certificate whose host matches. explicit: sslClientCertificateId.',
  }),
  securityBaseline: Type.Object(SecurityBaseline.properties, { default: {} }),
});
export type SslConfig = Static<typeof SslConfig>;
