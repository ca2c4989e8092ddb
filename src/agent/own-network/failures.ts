import { isIP } from 'node:net';
import type { Reason, ReasonCode } from '../../protocol/reasons.ts';

/** Which failures may come from the host's own network. */

/** Failures that make the agent look at its own network. An answer of the target, such as a refusal, is none. */
const suspicious: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'EAI_AGAIN',
  'ETIMEDOUT',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'EACCES',
  'SOCKET_TIMEOUT',
  'TIMEOUT',
  'PACKET_LOSS',
  'PROXY_FAILED',
  'NETWORK_UNAVAILABLE',
]);

/** Failures that only count if they overlap with a known failure of the own network: something was slow or was cut. */
const consequences: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'ECONNRESET',
  'EPIPE',
  'CONNECTION_CLOSED',
  'HTTP_BODY_INCOMPLETE',
  'TLS_ERROR',
  'DNS_RCODE',
  'RESPONSE_TOO_SLOW',
]);

/** How a failure concerns the own network; null = it does not. */
export function suspicionOf(reason: Reason, isNameKnown: boolean): 'examine' | 'compare' | null {
  if (suspicious.has(reason.code)) return 'examine';
  // The resolver answered. That is only suspicious if it has resolved the same name before.
  if (reason.code === 'ENOTFOUND') return isNameKnown ? 'examine' : null;
  return consequences.has(reason.code) ? 'compare' : null;
}

/** Reasons of customer code, whose texts name the network error. */
const scriptCodes: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'TEST_FAILED',
  'SCRIPT_THREW',
  'SCRIPT_TIMEOUT',
  'INSTALL_FAILED',
]);

const nameErrors = /\b(ERR_NAME_NOT_RESOLVED|ERR_NAME_RESOLUTION_FAILED|ENOTFOUND|EAI_AGAIN)\b/;
const networkErrors =
  /\b(ERR_INTERNET_DISCONNECTED|ERR_ADDRESS_UNREACHABLE|ERR_NETWORK_CHANGED|ERR_CONNECTION_TIMED_OUT|ERR_TIMED_OUT|ERR_NETWORK_ACCESS_DENIED|ERR_PROXY_CONNECTION_FAILED|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|ETIMEDOUT|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)\b|\bgoto: Timeout \d+ms exceeded/;
const maxText = 64 * 1024;

export type ScriptSuspicion = {
  step: 'name' | 'connection' | 'unknown';
  hostname: string | null;
  address: string | null;
};

/**
 * The network error that customer code has reported; null if it reported none. Customer code has no codes of ours, so
 * the names of the platform's errors are searched in its texts.
 */
export function scriptSuspicion(
  reason: Reason,
  details: Readonly<Record<string, unknown>>,
): ScriptSuspicion | null {
  if (!scriptCodes.has(reason.code)) return null;
  const text = `${reason.message}\n${JSON.stringify(details['errors'] ?? '').slice(0, maxText)}`;
  if (nameErrors.test(text)) return { step: 'name', hostname: hostIn(text), address: null };
  if (!networkErrors.test(text)) return null;
  const host = hostIn(text);
  return host !== null && isIP(host) !== 0
    ? { step: 'connection', hostname: null, address: host }
    : { step: 'unknown', hostname: null, address: null };
}

/** The host that the text names: of a URL, after `connect <errno>`, or after `getaddrinfo <errno>`. */
function hostIn(text: string): string | null {
  const url = /\bhttps?:\/\/[^\s"'\\<>]+/.exec(text)?.[0];
  if (url !== undefined && URL.canParse(url)) return new URL(url).hostname.replace(/^\[|\]$/g, '');
  const named = /\b(?:getaddrinfo|connect) E[A-Z_]+ ([\w.:-]+?)(?::\d+)?(?:[\s"\\]|$)/.exec(text)?.[1];
  return named ?? null;
}
