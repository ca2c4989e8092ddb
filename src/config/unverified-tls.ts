import type { Environment } from './read.ts';

/** What to log at the start if NODE_TLS_REJECT_UNAUTHORIZED switches the verification of certificates off; else null. */
export function unverifiedTlsWarning(env: Environment): string | null {
  return env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0'
    ? 'NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored for the service, proxies, alert channels and mail servers: name their authority in NODE_EXTRA_CA_CERTS instead'
    : null;
}
