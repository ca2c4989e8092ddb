import type { JobType } from '../../protocol/check-types.ts';

/** Last part of `/v1/checks/{…}` of each type. */
export const checkPaths: { readonly [T in JobType]: string } = {
  URL: 'url',
  API: 'api',
  TCP: 'tcp',
  DNS: 'dns',
  ICMP: 'icmp',
  BROWSER: 'browser',
  MULTI_STEP: 'multistep',
  PLAYWRIGHT: 'playwright',
};
