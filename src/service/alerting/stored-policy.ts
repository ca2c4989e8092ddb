import type { AlertSubject } from './state-statements.ts';
import type { StoredPolicy } from './policy.ts';

/** Extracts the stored settings of a check, its group and its account. */
export function storedPolicy(subject: AlertSubject): StoredPolicy {
  const { own, useGlobal, groupId, groupOwn, groupUseGlobal, account } = subject;
  const group = groupId === null ? null : { own: groupOwn, useGlobal: groupUseGlobal };
  return { own, useGlobal, group, account };
}
