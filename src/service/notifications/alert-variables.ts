import { alertTitle, isLocationAlert } from '../alerting/alert-types.ts';
import type { Analysis } from '../analyses/statements.ts';
import type { AlertRow } from '../alerting/statements.ts';
import type { Variables } from '../../templates/scope.ts';

/** The content of notifications: variables and facts of an alert. */

export type AlertContext = {
  alert: AlertRow;
  /** Analysis of the error that the alert is about, if there is one. */
  analysis?: { id: string; analysis: Analysis } | undefined;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/** The page that shows the result; null for an alert without a result. */
export function resultLink({ alert, publicUrl }: AlertContext): string | null {
  return alert.resultId === null ? null : `${publicUrl}/checks/${alert.checkId}/runs/${alert.resultId}`;
}

/** Variables for templates (facts, 4.4). Fields that the alert does not have are empty. */
export function alertVariables(context: AlertContext): Variables {
  const { alert, analysis } = context;
  return {
    ALERT_TITLE: alertTitle(alert),
    ALERT_TYPE: alert.alertType,
    CHECK_NAME: alert.checkName,
    CHECK_ID: isLocationAlert(alert.alertType) ? '' : alert.checkId,
    CHECK_TYPE: alert.checkType,
    CHECK_DESCRIPTION: alert.checkDescription ?? '',
    GROUP_NAME: alert.groupName ?? '',
    CHECK_RESULT_ID: alert.resultId ?? '',
    RESULT_LINK: resultLink(context) ?? '',
    RUN_LOCATION: alert.runLocationName ?? alert.runLocation ?? '',
    REGION: alert.runLocation ?? '',
    RESPONSE_TIME: alert.responseTime ?? '',
    STARTED_AT: alert.startedAt.toISOString(),
    TAGS: alert.tags,
    CHECK_ERROR_MESSAGE: alert.error ?? '',
    API_CHECK_RESPONSE_STATUS_CODE: alert.statusCode ?? '',
    API_CHECK_RESPONSE_STATUS_TEXT: alert.statusText ?? '',
    SSL_DAYS_REMAINING: alert.sslDaysRemaining ?? '',
    SSL_CHECK_DOMAIN: alert.sslDomain ?? '',
    IS_REMINDER: alert.isReminder,
    REMINDER_SEQUENCE: alert.reminderSequence,
    IS_LATE: alert.isLate,
    AI_ANALYSIS_CLASSIFICATION: analysis?.analysis.classification ?? '',
    AI_ANALYSIS_ROOT_CAUSE: analysis?.analysis.rootCause ?? '',
    AI_ANALYSIS_USER_IMPACT: analysis?.analysis.userImpact ?? '',
    AI_ANALYSIS_CODE_FIX: analysis?.analysis.codeFix ?? '',
    AI_ANALYSIS_LINK:
      analysis === undefined ? '' : `${context.publicUrl}/v1/root-cause-analyses/${analysis.id}`,
  };
}

/** The alert's fields as rows of name and text, for people. Missing fields are omitted. */
export function alertFacts(context: AlertContext): { name: string; text: string }[] {
  const { alert } = context;
  const status = [alert.statusCode, alert.statusText]
    .filter((part) => part !== null && part !== '')
    .join(' ');
  const isOfLocation = isLocationAlert(alert.alertType);
  const rows: [string, string | null][] = [
    ['Check', isOfLocation ? null : alert.checkName],
    ['Type', isOfLocation ? null : alert.checkType],
    ['Group', alert.groupName],
    ['Location', alert.runLocationName ?? alert.runLocation],
    ['Error', alert.error],
    ['Status', status],
    ['Response time', alert.responseTime === null ? null : `${Math.round(alert.responseTime)} ms`],
    ['Started', alert.startedAt.toISOString()],
    ['Tags', alert.tags.join(', ')],
    ['Reminder', alert.isReminder ? String(alert.reminderSequence) : null],
    ['Late', alert.isLate ? `the service learned of this run at ${alert.createdAt.toISOString()}` : null],
  ];
  return rows.flatMap(([name, text]) => (text === null || text === '' ? [] : [{ name, text }]));
}

/** Whether the alert is a recovery, a warning or a failure. */
export function severityOf({ alertType }: AlertRow): 'recovered' | 'degraded' | 'failed' {
  switch (alertType) {
    case 'ALERT_RECOVERY':
    case 'ALERT_DEGRADED_RECOVERY':
    case 'ALERT_LOCATION_NETWORK_RECOVERY':
    case 'NO_ALERT':
      return 'recovered';
    case 'ALERT_DEGRADED':
    case 'ALERT_DEGRADED_REMAIN':
    case 'ALERT_FAILURE_DEGRADED':
    case 'ALERT_SSL':
      return 'degraded';
    case 'ALERT_FAILURE':
    case 'ALERT_DEGRADED_FAILURE':
    case 'ALERT_FAILURE_REMAIN':
    case 'ALERT_LOCATION_NETWORK':
      return 'failed';
  }
}
