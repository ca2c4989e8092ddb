import { findAlertResults, type AlertResult } from './result-statements.ts';
import { lockSubjects, type AlertSubject } from './state-statements.ts';
import { channelsOf } from '../alert-channels/subscription-statements.ts';
import { insertAlerts } from './statements.ts';
import type { Db } from '../db/database.ts';
import { insertSslNotices, recordSslCheck } from './ssl-notice-statements.ts';
import { queueNotifications } from '../alert-channels/queue.ts';
import { policyOf } from './policy.ts';
import { snapshotOf, type Raising } from './raise-alerts.ts';
import { storedPolicy } from './stored-policy.ts';

/** Certificates that expire soon (facts, 4.5): each channel is notified once per certificate, at its own threshold. */

export type SeenCertificate = {
  checkId: string;
  /** Results of the check's last run. */
  resultIds: readonly string[];
  /** Null = not read yet. */
  subject: AlertSubject | null;
};

/** Examines the certificates of these runs and raises alerts. */
export async function followCertificates(
  tx: Db,
  raising: Raising,
  certificates: readonly SeenCertificate[],
): Promise<void> {
  const { silence, now } = raising;
  const unread = certificates.flatMap(({ checkId, subject }) => (subject === null ? [checkId] : []));
  const read = unread.length === 0 ? [] : await lockSubjects(tx, { checkIds: unread, now: new Date(now) });
  const subjects = new Map(read.map((subject) => [subject.checkId, subject]));
  const seen = certificates.flatMap(({ checkId, resultIds, subject }) => {
    const known = subject ?? subjects.get(checkId);
    return known === undefined ? [] : [{ subject: known, resultIds }];
  });
  const results = await findAlertResults(tx, {
    accountIds: seen.map(({ subject }) => subject.accountId),
    ids: seen.flatMap(({ resultIds }) => resultIds),
  });
  for (const { subject, resultIds } of seen) {
    if (await silence.silences(tx, subject, [now])) continue;
    const own = resultIds.flatMap((id) => results.get(id) ?? []);
    for (const result of distinct(own)) await followCertificate(tx, raising, { subject, result });
  }
  await recordSslCheck(tx, { checkIds: seen.map(({ subject }) => subject.checkId), now: new Date(now) });
}

/** Keeps one result for each distinct expiry time. */
function distinct(results: readonly AlertResult[]): AlertResult[] {
  const byExpiry = new Map<number, AlertResult>();
  for (const result of results) {
    const expiresAt = result.certificate?.expiresAt;
    if (expiresAt !== undefined && expiresAt !== null) byExpiry.set(expiresAt.getTime(), result);
  }
  return [...byExpiry.values()];
}

async function followCertificate(
  tx: Db,
  raising: Raising,
  { subject, result }: { subject: AlertSubject; result: AlertResult },
): Promise<void> {
  const { now, background } = raising;
  const { accountId, checkId, groupId } = subject;
  const { certificate } = result;
  if (certificate === null || certificate.expiresAt === null) return;
  const { daysRemaining, expiresAt } = certificate;
  const { ofGroup } = policyOf(storedPolicy(subject));
  const subscribed = (await channelsOf(tx, { accountId, checkId, groupId, ofGroup })).filter(
    ({ sslExpiry, sslExpiryThreshold }) => sslExpiry && daysRemaining <= sslExpiryThreshold,
  );
  const unnotified = await insertSslNotices(tx, {
    checkId,
    channelIds: subscribed.map(({ id }) => id),
    expiresAt,
    now: new Date(now),
  });
  if (unnotified.length === 0) return;
  const about = { subject, resultId: result.id, runLocations: [result.runLocation], at: now };
  const snapshot = snapshotOf(raising, about, result);
  const sslDomain = snapshot.sslDomain ?? subject.sslCheckDomain;
  const noReminder = { isReminder: false, reminderSequence: 0, isLate: false, silenced: false };
  // The alert is about the certificate, not about the outcome of the run.
  await insertAlerts(tx, [{ ...snapshot, ...noReminder, alertType: 'ALERT_SSL', error: null, sslDomain }]);
  await queueNotifications(tx, background, { accountId, channelIds: unnotified, alertId: snapshot.id });
}
