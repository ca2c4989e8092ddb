import type { AssertionResult } from '../../protocol/assertions.ts';
import { isCheckType, kindOf, type CheckKind } from '../../protocol/check-types.ts';
import { certificateExpiryOf } from '../../protocol/certificate-expiry.ts';
import type { Result, Timings } from '../../protocol/result.ts';
import { grpcLines } from './report-grpc.ts';
import { networkLines } from './report-network.ts';
import { sslLines } from './report-ssl.ts';
import { tracerouteLines } from './report-traceroute.ts';
import { artifactLines, scriptLines } from './report-script.ts';
import { suiteSections } from './report-suite.ts';
import { isFields, type Fields } from '../../json-values.ts';
import { printableLine } from '../terminal-text.ts';

/** Formats a result for a person at a terminal: plain text, limited in length, without colours. */

const barWidth = 30;
const maxShownText = 120;

/** A report of one check's attempts, with the last one in full. `results` are in order and contain at least one. */
export function resultReport(name: string, results: readonly Result[]): string {
  const last = results.at(-1);
  if (last === undefined) return `${name}: no attempt was made\n`;
  const sections = [
    [
      `${last.status.toUpperCase()}  ${last.checkType}  ${name}`,
      ...(last.reason === null
        ? []
        : [
            `${last.reason.code} (${ownerWords[last.reason.owner]}): ${printableLine(last.reason.message, 500)}`,
          ]),
      `${milliseconds(last.responseTime)} ms at ${last.startedAt}${attemptWords(results)}`,
    ],
    phaseLines(last.timings),
    assertionLines(last.assertions),
    ...(isCheckType(last.checkType) ? sectionsOf[kindOf[last.checkType]] : usualSections)(last),
    artifactLines(last.artifacts),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

type Sections = (result: Result) => string[][];

const usualSections: Sections = ({ details, log }) => [
  factLines(details),
  sslLines(details),
  grpcLines(details),
  [...tracerouteLines(details), ...networkLines(details)],
  scriptLines(details),
  log.map(({ level, msg }) => `${level.padEnd(6)}${printableLine(msg, 500)}`),
];

/** The part of a report that shows a result's details, by kind of check. */
const sectionsOf: { readonly [K in CheckKind]: Sections } = {
  probe: usualSections,
  script: usualSections,
  suite: ({ details, reason }) => suiteSections(details, reason?.message ?? null),
  service: usualSections,
};

/** One result as a line of a list. */
export function resultLine(
  result: Pick<Result, 'status' | 'checkType' | 'responseTime' | 'reason'>,
  name: string,
): string {
  const reason = result.reason === null ? '' : `  ${result.reason.code}`;
  const time = `${milliseconds(result.responseTime)} ms`;
  return `${result.status.padEnd(9)} ${result.checkType.padEnd(10)} ${name.padEnd(40)} ${time.padStart(10)}${reason}`;
}

const ownerWords = { target: 'target', script: 'script', ours: 'agent' } as const;

function attemptWords(results: readonly Result[]): string {
  if (results.length === 1) return '';
  const before = results.slice(0, -1).map(({ status, reason }) => reason?.code ?? status);
  return `, attempt ${results.length} of ${results.length} (before: ${before.join(', ')})`;
}

const milliseconds = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

function phaseLines(timings: Timings | null): string[] {
  if (timings === null) return [];
  const { total, ...phases } = timings;
  let before = 0;
  const rows = Object.entries(phases)
    .filter((row): row is [string, number] => row[1] !== undefined)
    .map(([name, value]) => {
      const from = barAt(before, total);
      before += value;
      const length = Math.max(1, barAt(before, total) - from);
      // The last phase may be too short to be visible.
      const bar = `${' '.repeat(Math.min(from, barWidth - 1))}${'█'.repeat(length)}`.slice(0, barWidth);
      return `${name.padEnd(12)}${milliseconds(value).padStart(9)} ms  ${bar}`;
    });
  return [...rows, `${'total'.padEnd(12)}${milliseconds(total).padStart(9)} ms`];
}

const barAt = (value: number, total: number): number =>
  total <= 0 ? 0 : Math.round((value / total) * barWidth);

function assertionLines(assertions: readonly AssertionResult[]): string[] {
  return assertions.map(({ source, property, comparison, target, regex, actual, error }) => {
    const subject = [source, property, regex === null ? '' : `/${regex}/`, comparison, target]
      .filter((part) => part !== '')
      .join(' ');
    const found = `actual ${printableLine(JSON.stringify(actual) ?? 'nothing', maxShownText)}`;
    return `${error === null ? 'ok    ' : 'FAILED'}  ${printableLine(subject, maxShownText)}  ${found}${
      error === null ? '' : `: ${printableLine(error, maxShownText)}`
    }`;
  });
}

/** The most important details of any type: addresses, redirects, certificate, response. */
function factLines(details: Fields): string[] {
  const lines: [string, string][] = [];
  const tried = [...listOfFacts(details['attempts']), ...listOfFacts(details['addresses'])]
    .filter(({ address }) => address !== undefined)
    .map(
      ({ address, error }) =>
        `${String(address)} ${error === undefined || error === null ? 'ok' : errorCode(error)}`,
    );
  if (tried.length > 0) lines.push(['addresses', tried.join(', ')]);
  if (details['ipFallback'] === true) lines.push(['', 'no IPv6 route: used IPv4 instead']);
  const hops = listOfFacts(details['hops']);
  if (hops.length > 1) {
    for (const { status, url } of hops)
      lines.push(['hop', `${String(status ?? '')} ${printableLine(String(url), maxShownText)}`]);
  }
  if (typeof details['packetsSent'] === 'number') lines.push(['packets', packetsText(details)]);
  const expiry = certificateExpiryOf(details);
  if (expiry !== null) {
    const { daysRemaining: days, subject, issuer } = expiry;
    const left = days < 0 ? `expired ${-days} days ago` : `${days} days left`;
    const issued = issuer === '' ? '' : `, issued by ${printableLine(issuer, maxShownText)}`;
    lines.push(['certificate', `${left}, ${printableLine(subject, maxShownText)}${issued}`]);
  }
  const secured = connectionWords(details);
  if (secured !== '') lines.push(['', secured]);
  const answer = answerIn(details);
  if (answer !== null) lines.push(['answer', printableLine(answer, maxShownText)]);
  return lines.map(([name, text]) => `${name.padEnd(12)}  ${text}`);
}

function listOfFacts(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields).slice(0, 20) : [];
}

function packetsText({ packetsSent, packetsReceived, packetLoss, latency }: Fields): string {
  const { min, avg, max } = isFields(latency) ? latency : {};
  const times =
    typeof avg === 'number' ? `, ${[min, avg, max].map(String).join(' / ')} ms (min, avg, max)` : '';
  return `${String(packetsReceived)} of ${String(packetsSent)} answered, ${String(packetLoss)} % lost${times}`;
}

function errorCode(error: unknown): string {
  return isFields(error) ? String(error['code'] ?? 'failed') : String(error);
}

/** Version, cipher suite and application protocol of the connection to the certificate's host. */
function connectionWords(details: Fields): string {
  const { certificate } = isFields(details['sslCheck']) ? details['sslCheck'] : details;
  const { protocol, cipher, alpn } = isFields(certificate) ? certificate : {};
  return [protocol, cipher, alpn]
    .filter((part) => typeof part === 'string')
    .map((part) => printableLine(part, maxShownText))
    .join(', ');
}

function answerIn(details: Fields): string | null {
  const response = details['response'];
  if (!isFields(response)) return null;
  if (response['status'] !== undefined) {
    return `${String(response['status'])} ${String(response['statusText'] ?? '')}`.trim();
  }
  if (typeof response['data'] === 'string' && response['data'] !== '')
    return JSON.stringify(response['data']);
  if (response['returnCode'] !== undefined) return String(response['returnCode']);
  return null;
}
