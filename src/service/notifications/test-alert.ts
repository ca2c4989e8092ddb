import type { AlertRow } from '../alerting/statements.ts';

/** The alert of a test notification; it belongs to no check. */
export function testAlert(accountId: string, now: Date): AlertRow {
  return {
    id: '00000000-0000-7000-8000-000000000000',
    accountId,
    checkId: '00000000-0000-7000-8000-000000000000',
    locationId: null,
    checkName: 'Test of this alert channel',
    checkType: 'URL',
    checkDescription: 'This is a test of the alert channel. No check has failed.',
    tags: ['test'],
    groupId: null,
    groupName: null,
    alertType: 'ALERT_RECOVERY',
    resultId: null,
    runLocation: null,
    runLocationName: null,
    runLocations: [],
    responseTime: null,
    error: null,
    statusCode: null,
    statusText: null,
    sslDomain: null,
    sslDaysRemaining: null,
    isReminder: false,
    reminderSequence: 0,
    isLate: false,
    silenced: false,
    startedAt: now,
    createdAt: now,
  };
}
