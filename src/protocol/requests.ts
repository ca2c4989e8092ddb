import Type, { type Static } from 'typebox';
import type { ProbeType } from './check-types.ts';
import {
  ApiAssertion,
  DnsAssertion,
  GrpcAssertion,
  IcmpAssertion,
  SslAssertion,
  TcpAssertion,
  TracerouteAssertion,
  UrlAssertion,
} from './assertions.ts';
import { GrpcConfig, maxGrpcSeconds } from './grpc.ts';
import { Nullable, StringEnum } from './schema.ts';
import { SslConfig } from './ssl.ts';
import { traceSettings } from './traceroute.ts';

/**
 * The `request` object of each check type: one schema for the public API, the database and the job. The service fills
 * in defaults when it stores a check, so a job has every field.
 */

const Url = Type.String({ minLength: 1, maxLength: 2048 });
const Hostname = Type.String({ minLength: 1, maxLength: 2048 });
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const IpFamily = StringEnum(['IPv4', 'IPv6'], { default: 'IPv4' });
const assertionsOf = <S extends Type.TSchema>(schema: S) =>
  Type.Array(schema, { maxItems: 100, default: [] });

export const KeyValue = Type.Object({
  key: Type.String({ minLength: 1, maxLength: 1024 }),
  value: Type.String({ maxLength: 65_536, default: '' }),
  locked: Type.Boolean({ default: false }),
});
export type KeyValue = Static<typeof KeyValue>;

export const UrlRequest = Type.Object({
  method: StringEnum(['GET'], { default: 'GET' }),
  url: Url,
  followRedirects: Type.Boolean({ default: true }),
  skipSSL: Type.Boolean({ default: false }),
  ipFamily: IpFamily,
  assertions: assertionsOf(UrlAssertion),
});
export type UrlRequest = Static<typeof UrlRequest>;

export const ApiRequest = Type.Object({
  method: StringEnum(['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'], { default: 'GET' }),
  url: Url,
  followRedirects: Type.Boolean({ default: true }),
  skipSSL: Type.Boolean({ default: false }),
  ipFamily: IpFamily,
  body: Type.String({ maxLength: 1_048_576, default: '' }),
  bodyType: StringEnum(['JSON', 'FORM', 'RAW', 'GRAPHQL', 'NONE'], { default: 'NONE' }),
  headers: Type.Array(KeyValue, { maxItems: 100, default: [] }),
  queryParameters: Type.Array(KeyValue, { maxItems: 100, default: [] }),
  basicAuth: Nullable(
    Type.Object({
      username: Type.String({ maxLength: 1024, default: '' }),
      password: Type.String({ maxLength: 4096, default: '' }),
    }),
    { default: null },
  ),
  assertions: assertionsOf(ApiAssertion),
});
export type ApiRequest = Static<typeof ApiRequest>;

export const TcpRequest = Type.Object({
  hostname: Hostname,
  port: Port,
  /** Sent after connecting; null or empty = only the connection is checked. */
  data: Nullable(Type.String({ maxLength: 65_536 }), { default: null }),
  ipFamily: IpFamily,
  assertions: assertionsOf(TcpAssertion),
});
export type TcpRequest = Static<typeof TcpRequest>;

/** Every record type that the DNS executor can query and present. */
export const recordTypes = [
  'A',
  'AAAA',
  'CNAME',
  'MX',
  'TXT',
  'SOA',
  'NS',
  'HTTPS',
  'SVCB',
  'SRV',
  'PTR',
  'CAA',
  'DS',
  'DNSKEY',
  'RRSIG',
  'NSEC',
  'NSEC3',
  'TLSA',
  'SSHFP',
  'NAPTR',
  'DNAME',
  'HINFO',
  'RP',
  'LOC',
  'URI',
  'ANY',
] as const;
export type RecordType = (typeof recordTypes)[number];

/** Transports of a DNS check; DOT is DNS over TLS (RFC 7858), DOH DNS over HTTPS (RFC 8484). */
export const dnsProtocols = ['UDP', 'TCP', 'DOT', 'DOH'] as const;
export type DnsProtocol = (typeof dnsProtocols)[number];

export const DnsRequest = Type.Object({
  query: Type.String({ minLength: 1, maxLength: 253 }),
  recordType: StringEnum(recordTypes, { default: 'A' }),
  /** Host name or address; with DOH also a complete URL. Null or empty = the system's own name servers. */
  nameServer: Nullable(Type.String({ maxLength: 2048 }), { default: null }),
  /** Null = the protocol's own port: 53, 853 (DOT) or 443 (DOH). */
  port: Nullable(Port, { default: null }),
  protocol: StringEnum(dnsProtocols, { default: 'UDP' }),
  /** DOT and DOH only: accept any certificate. */
  skipSSL: Type.Boolean({ default: false }),
  assertions: assertionsOf(DnsAssertion),
});
export type DnsRequest = Static<typeof DnsRequest>;

export const IcmpRequest = Type.Object({
  hostname: Hostname,
  ipFamily: IpFamily,
  /** Echo requests, 500 ms apart. */
  pingCount: Type.Integer({ minimum: 1, maximum: 50, default: 10 }),
  assertions: assertionsOf(IcmpAssertion),
});
export type IcmpRequest = Static<typeof IcmpRequest>;

export const SslRequest = Type.Object({
  sslConfig: SslConfig,
  /** A stored client certificate; required with clientCertificateMode `explicit`. */
  sslClientCertificateId: Nullable(Type.String({ maxLength: 36 }), { default: null }),
  assertions: assertionsOf(SslAssertion),
});
export type SslRequest = Static<typeof SslRequest>;

export const GrpcRequest = Type.Object({
  url: Hostname,
  /** A number, or a template that renders as one. */
  port: Type.Union([Port, Type.String({ pattern: '\\{\\{', maxLength: 256 })]),
  ipFamily: IpFamily,
  skipSSL: Type.Boolean({ default: false }),
  /** Seconds for lookup, connection, reflection and call together. */
  timeout: Type.Integer({ minimum: 1, maximum: maxGrpcSeconds, default: 60 }),
  grpcConfig: GrpcConfig,
  /** A stored client certificate; required with clientCertificateMode `explicit`. */
  grpcClientCertificateId: Nullable(Type.String({ maxLength: 36 }), { default: null }),
  assertions: assertionsOf(GrpcAssertion),
});
export type GrpcRequest = Static<typeof GrpcRequest>;
export const TracerouteRequest = Type.Object({
  ...traceSettings,
  assertions: assertionsOf(TracerouteAssertion),
});
export type TracerouteRequest = Static<typeof TracerouteRequest>;

export const requestSchemas = {
  URL: UrlRequest,
  API: ApiRequest,
  TCP: TcpRequest,
  DNS: DnsRequest,
  ICMP: IcmpRequest,
  SSL: SslRequest,
  GRPC: GrpcRequest,
  TRACEROUTE: TracerouteRequest,
} as const satisfies { [T in ProbeType]: unknown };
