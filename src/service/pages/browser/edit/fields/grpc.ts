import { alertSection } from './alerts.ts';
import { assertionRow } from './assertions.ts';
import { certificateRow, phaseRows } from './http.ts';
import { limitRows } from './limits.ts';
import { named, type Body, type Section } from './row.ts';
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

/** The form of gRPC checks. */

const config = 'request.grpcConfig';
const configOf = (body: Body) => {
  const request = body['request'] as { grpcConfig?: { [field: string]: unknown } } | undefined;
  return request?.grpcConfig ?? {};
};
const isHealth = (body: Body) => configOf(body)['mode'] === 'HEALTH';
const isBehavior = (body: Body) => !isHealth(body);
const isSecure = (body: Body) => configOf(body)['tls'] !== false;
const hasSource = (source: string) => (body: Body) =>
  isBehavior(body) && configOf(body)['serviceDefinition'] === source;

export const grpcSections: readonly Section[] = [
  {
    title: 'Call',
    rows: [
      nameRow,
      { path: 'request.url', label: 'Host name or IP address', kind: 'text', max: 2048, required: true },
      { path: 'request.port', label: 'Port', kind: 'number', required: true },
      {
        path: `${config}.mode`,
        label: 'What is called',
        kind: 'choice',
        choices: [
          { value: 'BEHAVIOR', title: 'A method' },
          { value: 'HEALTH', title: 'The health service' },
        ],
        default: 'BEHAVIOR',
      },
      {
        path: `${config}.method`,
        label: 'Method',
        kind: 'text',
        required: true,
        empty: '',
        max: 1024,
        default: '',
        hint: 'package.Service/Method',
        when: isBehavior,
      },
      {
        path: `${config}.message`,
        label: 'Message as JSON',
        kind: 'area',
        empty: '',
        max: 262_144,
        default: '',
        when: isBehavior,
      },
      {
        path: `${config}.service`,
        label: 'Service that is asked about',
        kind: 'text',
        empty: '',
        max: 1024,
        default: '',
        hint: 'Empty = the whole server.',
        when: isHealth,
      },
      {
        path: `${config}.watch`,
        label: 'Use Watch instead of Check',
        kind: 'switch',
        default: false,
        when: isHealth,
      },
      {
        path: `${config}.serviceDefinition`,
        label: 'Types',
        kind: 'choice',
        choices: [
          { value: 'REFLECTION', title: 'From the server (reflection)' },
          { value: 'PROTO_FILE', title: 'Text of a .proto file' },
          { value: 'DESCRIPTOR_SET', title: 'Descriptor set' },
        ],
        default: 'REFLECTION',
        when: isBehavior,
      },
      {
        path: `${config}.protoContent`,
        label: 'Text of the .proto file',
        kind: 'area',
        empty: '',
        max: 524_288,
        default: '',
        when: hasSource('PROTO_FILE'),
      },
      {
        path: `${config}.descriptorSet`,
        label: 'Descriptor set in base64',
        kind: 'area',
        empty: '',
        max: 1_048_576,
        default: '',
        when: hasSource('DESCRIPTOR_SET'),
      },
      {
        path: `${config}.metadata`,
        label: 'Metadata',
        kind: 'list',
        one: 'entry',
        max: 50,
        default: [],
        columns: [
          { key: 'key', label: 'Key', kind: 'text', max: 256 },
          { key: 'value', label: 'Value', kind: 'text', max: 8192, default: '' },
        ],
      },
    ],
  },
  {
    title: 'Connection',
    isFolded: true,
    rows: [
      { path: `${config}.tls`, label: 'TLS', kind: 'switch', default: true },
      {
        path: 'request.skipSSL',
        label: 'Accept any certificate',
        kind: 'switch',
        default: false,
        when: isSecure,
      },
      {
        path: `${config}.serverName`,
        label: 'Name of the server',
        kind: 'text',
        empty: null,
        max: 2048,
        default: null,
        hint: 'Empty = the host. The certificate must carry it.',
        when: isSecure,
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
        when: isSecure,
      },
      {
        path: 'request.grpcClientCertificateId',
        label: 'Which client certificate',
        kind: 'pick',
        from: 'certificates',
        none: 'Choose a certificate',
        default: null,
        hint: 'Those under Settings, Client certificates.',
        when: (body) => isSecure(body) && configOf(body)['clientCertificateMode'] === 'explicit',
      },
      {
        path: 'request.ipFamily',
        label: 'IP version',
        kind: 'choice',
        choices: named('IPv4', 'IPv6'),
        default: 'IPv4',
      },
      {
        path: 'request.timeout',
        label: 'Time for everything',
        kind: 'number',
        unit: 's',
        min: 1,
        max: 180,
        default: 60,
      },
      {
        path: `${config}.compression`,
        label: 'Compression of the request',
        kind: 'choice',
        choices: named('none', 'gzip'),
        default: 'none',
      },
      {
        path: `${config}.maxMessageBytes`,
        label: 'Largest message',
        kind: 'number',
        unit: 'bytes',
        min: 1024,
        max: 26_214_400,
        default: 4_194_304,
      },
      {
        path: `${config}.maxMessages`,
        label: 'Most messages of a stream',
        kind: 'number',
        min: 1,
        max: 1000,
        default: 100,
      },
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('GRPC'), ...limitRows({ degraded: 10_000, max: 20_000, maximum: 180_000 })],
  },
  { title: 'Where and when it runs', rows: [...frequencyRows(0), ...locationRows, runParallel] },
  { title: 'Retries and expected failures', isFolded: true, rows: [...retryRows(false), shouldFail] },
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificateRow, runtimeRow, scriptPath, ...phaseRows] },
  generalSection(),
];
