/**
 * Alert types: each is a change from one status of a check to another, or a certificate that expires soon (facts,
 * 4.2).
 */
export const alertTypes = [
  'NO_ALERT',
  'ALERT_DEGRADED',
  'ALERT_FAILURE',
  'ALERT_DEGRADED_REMAIN',
  'ALERT_DEGRADED_RECOVERY',
  'ALERT_DEGRADED_FAILURE',
  'ALERT_FAILURE_REMAIN',
  'ALERT_FAILURE_DEGRADED',
  'ALERT_RECOVERY',
  'ALERT_SSL',
] as const;

/** Alerts about a location: its agents' own network has failed, or works again. */
export const locationAlertTypes = ['ALERT_LOCATION_NETWORK', 'ALERT_LOCATION_NETWORK_RECOVERY'] as const;
export type AlertType = (typeof alertTypes)[number] | (typeof locationAlertTypes)[number];

type Titled = {
  alertType: AlertType;
  checkName: string;
  isReminder: boolean;
  sslDomain: string | null;
  sslDaysRemaining: number | null;
};

const verbs: { readonly [type in AlertType]: string } = {
  NO_ALERT: 'has passed',
  ALERT_DEGRADED: 'is degraded',
  ALERT_FAILURE: 'has failed',
  ALERT_DEGRADED_REMAIN: 'is degraded',
  ALERT_DEGRADED_RECOVERY: 'has recovered',
  ALERT_DEGRADED_FAILURE: 'has failed',
  ALERT_FAILURE_REMAIN: 'has failed',
  ALERT_FAILURE_DEGRADED: 'is degraded',
  ALERT_RECOVERY: 'has recovered',
  ALERT_SSL: '',
  ALERT_LOCATION_NETWORK: 'has failed',
  ALERT_LOCATION_NETWORK_RECOVERY: 'works again',
};

/** The title of an alert in one line: `Check "X" has failed`. */
export function alertTitle(alert: Titled): string {
  const { alertType, checkName, isReminder, sslDomain, sslDaysRemaining: days } = alert;
  if (alertType === 'ALERT_SSL')
    return `The SSL certificate for ${sslDomain ?? checkName} ${expiryOf(days ?? 0)}`;
  if (isLocationAlert(alertType)) return `The network of location "${checkName}" ${verbs[alertType]}`;
  return `Check "${checkName}" ${isReminder ? 'is still failing' : verbs[alertType]}`;
}

/** Whether an alert is about a location, not about a check. */
export function isLocationAlert(alertType: string): boolean {
  return locationAlertTypes.some((known) => known === alertType);
}

function expiryOf(days: number): string {
  if (days < 0) return 'has expired';
  return days === 1 ? 'will expire in 1 day' : `will expire in ${days} days`;
}
