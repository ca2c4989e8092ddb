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

/** The form of traceroute checks. */

const withPort: { readonly [protocol: string]: boolean } = { TCP: true, UDP: true, ICMP: false };
const hasPort = (body: Body) => {
  const request = body['request'] as { protocol?: unknown } | undefined;
  return withPort[String(request?.protocol)] ?? true;
};

export const tracerouteSections: readonly Section[] = [
  {
    title: 'Trace',
    rows: [
      nameRow,
      { path: 'request.url', label: 'Host name or IP address', kind: 'text', max: 2048, required: true },
      {
        path: 'request.protocol',
        label: 'Probes',
        kind: 'choice',
        choices: named('TCP', 'UDP', 'ICMP'),
        default: 'TCP',
      },
      {
        path: 'request.port',
        label: 'Port',
        kind: 'number',
        min: 1,
        max: 65_535,
        empty: null,
        default: null,
        hint: 'Empty = 443 for TCP, 33434 for UDP.',
        when: hasPort,
      },
      {
        path: 'request.ipFamily',
        label: 'IP version',
        kind: 'choice',
        choices: named('IPv4', 'IPv6'),
        default: 'IPv4',
      },
      { path: 'request.queries', label: 'Probes for each hop', kind: 'number', min: 1, max: 10, default: 3 },
      { path: 'request.maxHops', label: 'Most hops', kind: 'number', min: 1, max: 64, default: 30 },
      {
        path: 'request.maxUnknownHops',
        label: 'Silent hops in a row',
        kind: 'number',
        min: 1,
        max: 30,
        empty: null,
        default: null,
        hint: 'The trace stops after so many. Empty = 15.',
      },
      { path: 'request.ptrLookup', label: 'Look up the names of hops', kind: 'switch', default: true },
      {
        path: 'request.timeout',
        label: 'Time for the trace',
        kind: 'number',
        unit: 's',
        min: 1,
        max: 30,
        default: 10,
      },
    ],
  },
  {
    title: 'What must hold',
    rows: [assertionRow('TRACEROUTE'), ...limitRows({ degraded: 3000, max: 5000, maximum: 30_000 })],
  },
  { title: 'Where and when it runs', rows: [...frequencyRows(0), ...locationRows, runParallel] },
  { title: 'Retries and expected failures', isFolded: true, rows: [...retryRows(false), shouldFail] },
  alertSection(true),
  variables,
  { title: 'More', isFolded: true, rows: [certificateRow, runtimeRow, scriptPath, ...phaseRows] },
  generalSection(),
];
