import type { Body, Column, Row } from './row.ts';

/** The assertions of each type: sources, comparisons, and what a property of a source is. */

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
const all = [
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

const grammar = {
  URL: { sources: ['STATUS_CODE'], comparisons: numeric },
  API: {
    sources: ['STATUS_CODE', 'JSON_BODY', 'HEADERS', 'TEXT_BODY', 'RESPONSE_TIME'],
    comparisons: all,
  },
  TCP: { sources: ['RESPONSE_DATA', 'RESPONSE_TIME'], comparisons: textual },
  DNS: { sources: ['RESPONSE_TIME', 'RESPONSE_CODE', 'TEXT_ANSWER', 'JSON_ANSWER'], comparisons: all },
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
    comparisons: all,
  },
  TRACEROUTE: {
    sources: ['RESPONSE_TIME', 'HOP_COUNT', 'PACKET_LOSS', 'HOP', 'JSON_RESPONSE'],
    comparisons: [...textual, 'IS_NULL', 'NOT_NULL'],
  },
} as const;

const isNumber = (source: unknown) =>
  ['STATUS_CODE', 'RESPONSE_TIME', 'LATENCY', 'GRPC_STATUS_CODE', 'HOP_COUNT', 'PACKET_LOSS'].includes(
    String(source),
  );
/** Sources that accept fewer comparisons than others of their kind. */
const fewer: { readonly [source: string]: readonly string[] | undefined } = {
  HOP: ['CONTAINS', 'NOT_CONTAINS'],
  HOP_COUNT: ['EQUALS', 'GREATER_THAN', 'LESS_THAN'],
  PACKET_LOSS: ['EQUALS', 'GREATER_THAN', 'LESS_THAN'],
};

/** What the property of a source is; a source without an entry has none. */
const properties: { readonly [source: string]: string } = {
  JSON_BODY: 'path, such as $.status',
  JSON_ANSWER: 'path, such as $.Answer[0].data',
  JSON_RESPONSE: 'path, such as $.packetLoss',
  HEADERS: 'name of the header',
  TEXT_BODY: 'pattern (empty = all of it)',
  RESPONSE_DATA: 'pattern (empty = all of it)',
  TEXT_ANSWER: 'pattern (empty = all of it)',
  GRPC_RESPONSE: 'path, such as $.status',
  GRPC_METADATA: 'metadata key',
  GRPC_TRAILERS: 'metadata key',
  LATENCY: 'avg, min, max or stdDev',
  HOP: 'address, name or asn (empty = any of them)',
  CERTIFICATE: 'field, such as daysUntilExpiry or sans',
  CONNECTION: 'field, such as tlsVersion or cipherSuite',
  TEXT_RESPONSE: 'pattern (empty = all of it)',
};
/** Properties that a source has in one type only. */
const ownProperties: { readonly [type: string]: { readonly [source: string]: string } | undefined } = {
  TRACEROUTE: { RESPONSE_TIME: 'avg, min, max or stdDev' },
};
const withoutTarget = ['IS_EMPTY', 'NOT_EMPTY', 'IS_NULL', 'NOT_NULL'];

/** The row of a type's assertions. */
export function assertionRow(type: keyof typeof grammar): Row {
  const { sources, comparisons } = grammar[type];
  const propertyOf = ({ source }: Body): string | undefined =>
    ownProperties[type]?.[String(source)] ?? properties[String(source)];
  const columns: Column[] = [
    { key: 'source', label: 'Source', kind: 'choice', choices: sources },
    {
      key: 'property',
      label: 'Property',
      kind: 'text',
      max: 2048,
      default: '',
      when: (row) => propertyOf(row) !== undefined,
      placeholder: (row) => propertyOf(row) ?? '',
    },
    {
      key: 'regex',
      label: 'Pattern in the value',
      kind: 'text',
      max: 2048,
      default: null,
      nullable: true,
      when: (row) => row['source'] === 'HEADERS',
      placeholder: () => 'pattern in the value (optional)',
    },
    {
      key: 'comparison',
      label: 'Comparison',
      kind: 'choice',
      choices: comparisons,
      choicesOf: (row) =>
        fewer[String(row['source'])] ??
        (isNumber(row['source'])
          ? numeric.filter((one) => (comparisons as readonly string[]).includes(one))
          : comparisons),
    },
    {
      key: 'target',
      label: 'Expected value',
      kind: 'text',
      max: 65_536,
      default: '',
      when: (row: Body) => !withoutTarget.includes(String(row['comparison'])),
      placeholder: (row) => (isNumber(row['source']) ? 'number' : 'expected value'),
    },
  ];
  return {
    path: 'request.assertions',
    label: 'Assertions',
    kind: 'list',
    one: 'assertion',
    columns,
    max: 100,
    default: [],
    isWide: true,
    hint: 'A run fails if one of them does not hold.',
  };
}
