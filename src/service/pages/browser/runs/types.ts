import type { Fields } from '../base/outside.ts';

/** Results as the API returns them. Fields that come from targets and scripts are unknown. */

export type Reason = { readonly code: string; readonly owner: string; readonly message: string };
export type Timings = { readonly [phase: string]: number };
export type StoredFile = {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly state: string;
  readonly url: string | null;
};
export type Run = {
  readonly id: string;
  readonly checkId: string;
  readonly sequenceId: string;
  readonly checkType: string;
  readonly runLocation: string;
  readonly resultType: 'FINAL' | 'ATTEMPT';
  readonly status: string;
  readonly responseTime: number;
  readonly attempts: number;
  readonly reason: Reason | null;
  readonly errorGroupIds: readonly string[];
  readonly startedAt: string;
  readonly stoppedAt: string;
  readonly isPartial?: boolean;
  readonly assertions?: readonly Fields[];
  readonly timings?: Timings | null;
  readonly details?: Fields;
  readonly artifacts?: readonly StoredFile[];
  readonly log?: readonly { readonly time: number; readonly level: string; readonly msg: string }[];
};

const owners: { readonly [owner: string]: string } = {
  target: 'The target caused it.',
  script: 'The script or its settings caused it.',
  ours: 'The monitoring caused it, not the target.',
};
/** Who is to act, in a sentence. */
export const ownerWords = (reason: Reason): string => owners[reason.owner] ?? '';

/** Path of a stored file on this service, whichever host its URL names. The policy of pages allows no other host. */
export function pathOfFile({ url, state }: StoredFile): string | null {
  if (state !== 'stored' || typeof url !== 'string' || !URL.canParse(url, location.href)) return null;
  const { pathname } = new URL(url, location.href);
  return pathname.startsWith('/v1/check-results/') ? `${pathname}?redirect=false` : null;
}
