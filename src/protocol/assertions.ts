import Type, { type Static } from 'typebox';
import type { ProbeType } from './check-types.ts';
import { StringEnum } from './schema.ts';

/** The 14 comparisons. The target is always a string on the wire. */
export const comparisons = [
  'EQUALS',
  'NOT_EQUALS',
  'HAS_KEY',
  'NOT_HAS_KEY',
  'HAS_VALUE',
  'NOT_HAS_VALUE',
  'IS_EMPTY',
  'NOT_EMPTY',
  'GREATER_THAN',
  'LESS_THAN',
  'CONTAINS',
  'NOT_CONTAINS',
  'IS_NULL',
  'NOT_NULL',
] as const;
export type Comparison = (typeof comparisons)[number];

const numeric = ['EQUALS', 'NOT_EQUALS', 'GREATER_THAN', 'LESS_THAN'] as const;
const textual = [
  'EQUALS',
  'NOT_EQUALS',
  'IS_EMPTY',
  'NOT_EMPTY',
  'GREATER_THAN',
  'LESS_THAN',
  'CONTAINS',
  'NOT_CONTAINS',
] as const;

/** Sources and comparisons that each check type accepts. */
export const assertionGrammar = {
  URL: { sources: ['STATUS_CODE'], comparisons: numeric },
  API: { sources: ['STATUS_CODE', 'JSON_BODY', 'HEADERS', 'TEXT_BODY', 'RESPONSE_TIME'], comparisons },
  TCP: { sources: ['RESPONSE_DATA', 'RESPONSE_TIME'], comparisons: textual },
  DNS: { sources: ['RESPONSE_TIME', 'RESPONSE_CODE', 'TEXT_ANSWER', 'JSON_ANSWER'], comparisons },
  ICMP: { sources: ['LATENCY', 'JSON_RESPONSE'], comparisons: [...textual, 'IS_NULL', 'NOT_NULL'] },
  SSL: {
    sources: ['CERTIFICATE', 'CONNECTION', 'RESPONSE_TIME', 'JSON_RESPONSE', 'TEXT_RESPONSE'],
    comparisons: [...textual, 'IS_NULL', 'NOT_NULL'],
  },
  GRPC: {
    sources: [
      'GRPC_STATUS_CODE',
      'GRPC_HEALTHCHECK_STATUS',
      'GRPC_RESPONSE',
      'TEXT_BODY',
      'GRPC_METADATA',
      'GRPC_TRAILERS',
      'RESPONSE_TIME',
    ],
    comparisons,
  },
  TRACEROUTE: {
    sources: ['RESPONSE_TIME', 'HOP_COUNT', 'PACKET_LOSS', 'HOP', 'JSON_RESPONSE'],
    comparisons: [...textual, 'IS_NULL', 'NOT_NULL'],
  },
} as const satisfies {
  [T in ProbeType]: { sources: readonly string[]; comparisons: readonly Comparison[] };
};

export type AssertionSource = (typeof assertionGrammar)[keyof typeof assertionGrammar]['sources'][number];

function AssertionOf<
  const Sources extends readonly string[],
  const Comparisons extends readonly Comparison[],
>(grammar: { sources: Sources; comparisons: Comparisons }) {
  return Type.Object({
    source: StringEnum(grammar.sources),
    /** Header name, JSONPath, latency property, or the pattern of TEXT_BODY, RESPONSE_DATA and TEXT_ANSWER. */
    property: Type.String({ maxLength: 2048, default: '' }),
    comparison: StringEnum(grammar.comparisons),
    target: Type.String({ maxLength: 65_536, default: '' }),
    /** Pattern applied to a header's value; its first capture group is compared. */
    regex: Type.Union([Type.String({ maxLength: 2048 }), Type.Null()], { default: null }),
  });
}

export const UrlAssertion = AssertionOf(assertionGrammar.URL);
export const ApiAssertion = AssertionOf(assertionGrammar.API);
export const TcpAssertion = AssertionOf(assertionGrammar.TCP);
export const DnsAssertion = AssertionOf(assertionGrammar.DNS);
export const IcmpAssertion = AssertionOf(assertionGrammar.ICMP);
export const SslAssertion = AssertionOf(assertionGrammar.SSL);
export const GrpcAssertion = AssertionOf(assertionGrammar.GRPC);
export const TracerouteAssertion = AssertionOf(assertionGrammar.TRACEROUTE);

const exact = ['EQUALS', 'NOT_EQUALS'] as const;
const partly = [...exact, 'CONTAINS', 'NOT_CONTAINS'] as const;

/** Properties of the sources of SSL checks, and the comparisons that each accepts (facts, section 1.4). */
export const sslProperties: {
  readonly [source: string]: { readonly [property: string]: readonly Comparison[] } | undefined;
} = {
  CERTIFICATE: {
    daysUntilExpiry: numeric,
    keySizeBits: numeric,
    subjectCN: partly,
    issuerCN: partly,
    serialNumber: exact,
    fingerprintSha256: exact,
    issuerFingerprintSha256: exact,
    keyAlgorithm: exact,
    signatureAlgorithm: exact,
    sans: ['CONTAINS', 'NOT_CONTAINS'],
    selfSigned: ['EQUALS'],
    isCA: ['EQUALS'],
  },
  CONNECTION: {
    tlsVersion: numeric,
    cipherSuite: partly,
    resolvedIp: partly,
    hostnameVerified: ['EQUALS'],
    chainTrusted: ['EQUALS'],
    ocspStapled: ['EQUALS'],
    ocspStatus: exact,
  },
};

/** Comparisons of the sources of GRPC checks that do not accept all of them (facts, section 2.3). */
export const grpcComparisons: { readonly [source: string]: readonly Comparison[] | undefined } = {
  RESPONSE_TIME: numeric,
  GRPC_STATUS_CODE: numeric,
  GRPC_HEALTHCHECK_STATUS: exact,
};

const whole = ['EQUALS', 'GREATER_THAN', 'LESS_THAN'] as const;
const member = ['CONTAINS', 'NOT_CONTAINS'] as const;

/** Properties of the sources of TRACEROUTE checks, and the comparisons that each accepts (facts, section 3.2). */
export const tracerouteProperties: typeof sslProperties = {
  RESPONSE_TIME: { '': numeric, avg: numeric, min: numeric, max: numeric, stdDev: numeric },
  HOP_COUNT: { '': whole },
  PACKET_LOSS: { '': whole },
  HOP: { '': member, address: member, name: member, asn: member },
};

/** An assertion of any type, as the evaluator sees it. */
export type Assertion = {
  source: AssertionSource;
  property: string;
  comparison: Comparison;
  target: string;
  regex: string | null;
};

/** The result of one assertion: the request's own fields, the value found, and why it failed (null = it passed). */
export const AssertionResult = Type.Object({
  source: Type.String(),
  property: Type.String(),
  comparison: Type.String(),
  target: Type.String(),
  regex: Type.Union([Type.String(), Type.Null()]),
  actual: Type.Unknown(),
  error: Type.Union([Type.String(), Type.Null()]),
});
export type AssertionResult = Static<typeof AssertionResult>;
