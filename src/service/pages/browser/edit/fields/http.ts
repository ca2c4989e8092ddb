import { alertSection } from './alerts.ts';
import { assertionRow } from './assertions.ts';
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

/** The forms of URL and API checks. */

const request = (body: Body) => (body['request'] ?? {}) as Body;

const url: Row = {
  path: 'request.url',
  label: 'URL',
  kind: 'text',
  empty: '',
  max: 2048,
  required: true,
  placeholder: 'https://',
  isWide: true,
};
const connection: readonly Row[] = [
  { path: 'request.followRedirects', label: 'Follow redirects', kind: 'switch', default: true },
  {
    path: 'request.skipSSL',
    label: 'Accept any certificate',
    kind: 'switch',
    default: false,
    hint: 'The check does not notice an expired or foreign certificate.',
  },
  {
    path: 'request.ipFamily',
    label: 'IP version',
    kind: 'choice',
    choices: named('IPv4', 'IPv6'),
    default: 'IPv4',
  },
];
/** The domain whose certificate is watched. */
export const certificateRow: Row = {
  path: 'sslCheckDomain',
  label: 'Domain of the certificate to watch',
  kind: 'text',
  empty: null,
  max: 253,
  default: null,
  hint: 'Alert channels can be told before this certificate expires.',
};

/** Setup and teardown: a snippet or a script each. */
export const phaseRows: readonly Row[] = [
  {
    path: 'setupSnippetId',
    label: 'Snippet before the request',
    kind: 'pick',
    from: 'snippets',
    none: 'none',
    default: null,
  },
  {
    path: 'tearDownSnippetId',
    label: 'Snippet after the response',
    kind: 'pick',
    from: 'snippets',
    none: 'none',
    default: null,
  },
  {
    path: 'localSetupScript',
    label: 'Setup script',
    kind: 'code',
    empty: null,
    default: null,
    hint: 'Runs before the request and can change it.',
    isWide: true,
  },
  {
    path: 'localTearDownScript',
    label: 'Teardown script',
    kind: 'code',
    empty: null,
    default: null,
    hint: 'Runs after the response and can read it.',
    isWide: true,
  },
];

export const dependencyRow: Row = {
  path: 'dependencies',
  label: 'Files that scripts load',
  kind: 'list',
  one: 'file',
  max: 250,
  default: [],
  isWide: true,
  columns: [
    { key: 'path', label: 'Path', kind: 'text', max: 512, default: '' },
    { key: 'content', label: 'Content', kind: 'area', default: '' },
  ],
};

const pairs = (path: string, label: string, one: string): Row => ({
  path,
  label,
  kind: 'list',
  one,
  max: 100,
  default: [],
  isWide: true,
  columns: [
    { key: 'key', label: 'Name', kind: 'text', max: 1024, default: '' },
    { key: 'value', label: 'Value', kind: 'text', max: 65_536, default: '' },
    { key: 'locked', label: 'Locked', kind: 'switch', default: false },
  ],
});

const runs: Section = {
  title: 'Where and when it runs',
  rows: [...frequencyRows(0), ...locationRows, runParallel],
};
const retries: Section = {
  title: 'Retries and expected failures',
  isFolded: true,
  rows: [...retryRows(true), shouldFail],
};

export const urlSections: readonly Section[] = [
  {
    title: 'Request',
    rows: [
      nameRow,
      url,
      { path: 'request.method', label: 'Method', kind: 'choice', choices: named('GET'), default: 'GET' },
      ...connection,
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('URL'), ...limitRows({ degraded: 3000, max: 5000, maximum: 30_000 })],
  },
  runs,
  retries,
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificateRow, runtimeRow, scriptPath, ...phaseRows] },
  generalSection(),
];

export const apiSections: readonly Section[] = [
  {
    title: 'Request',
    rows: [
      nameRow,
      {
        path: 'request.method',
        label: 'Method',
        kind: 'choice',
        choices: named('GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'),
        default: 'GET',
      },
      url,
      pairs('request.headers', 'Headers', 'header'),
      pairs('request.queryParameters', 'Query parameters', 'parameter'),
      {
        path: 'request.bodyType',
        label: 'Body',
        kind: 'choice',
        choices: [
          { value: 'NONE', title: 'none' },
          ...named('JSON', 'GRAPHQL'),
          { value: 'FORM', title: 'form' },
          { value: 'RAW', title: 'raw' },
        ],
        default: 'NONE',
      },
      {
        path: 'request.body',
        label: 'Content of the body',
        kind: 'area',
        empty: '',
        max: 1_048_576,
        default: '',
        isWide: true,
        when: (body) => request(body)['bodyType'] !== 'NONE' || (request(body)['body'] ?? '') !== '',
      },
      {
        path: 'request.basicAuth',
        label: 'Basic authentication',
        kind: 'object',
        default: null,
        isWide: true,
        rows: [
          {
            path: 'request.basicAuth.username',
            label: 'User name',
            kind: 'text',
            empty: '',
            max: 1024,
            default: '',
          },
          {
            path: 'request.basicAuth.password',
            label: 'Password',
            kind: 'password',
            empty: '',
            max: 4096,
            default: '',
          },
        ],
      },
      ...connection,
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('API'), ...limitRows({ degraded: 5000, max: 20_000, maximum: 30_000 })],
  },
  {
    title: 'Setup and teardown',
    isFolded: true,
    rows: [...phaseRows, runtimeRow, dependencyRow, scriptPath],
  },
  runs,
  retries,
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificateRow] },
  generalSection(),
];
