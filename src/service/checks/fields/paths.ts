import type { CheckType } from '../../../protocol/check-types.ts';

/** Last part of `/v1/checks/{…}` of each type. */
export const checkPaths: { readonly [T in CheckType]: string } = {
  URL: 'url',
  API: 'api',
  TCP: 'tcp',
  DNS: 'dns',
  ICMP: 'icmp',
  BROWSER: 'browser',
  MULTI_STEP: 'multistep',
  PLAYWRIGHT: 'playwright',
  HEARTBEAT: 'heartbeat',
  AGENTIC: 'agentic',
};
