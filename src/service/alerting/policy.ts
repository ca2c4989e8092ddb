import { filledAlertSettings, type AlertSettings } from '../accounts/alert-settings.ts';
import type { NotifiedChannel } from '../alert-channels/subscription-statements.ts';
import { mergedAlerts } from '../checks/storage/settings.ts';
import type { RaisedAlert } from './state-machine.ts';

/** Decides which alert settings apply to a check, and which channels receive an alert (facts, 4.1 and 4.2). */

/** Settings as stored; null where a check, a group or an account has none. */
export type StoredPolicy = {
  own: Partial<AlertSettings> | null;
  useGlobal: boolean | null;
  /** Null = the check has no group. */
  group: { own: Partial<AlertSettings> | null; useGlobal: boolean | null } | null;
  account: Partial<AlertSettings> | null;
};

export type Policy = {
  settings: AlertSettings;
  /** True = only the group's channels are notified; false = only the check's. */
  ofGroup: boolean;
};

/** The settings that apply, and whose channels are notified. */
export function policyOf({ own, useGlobal, group, account }: StoredPolicy): Policy {
  const check = {
    alertSettings: filledAlertSettings(own),
    useGlobalAlertSettings: useGlobal ?? true,
    alertChannelSubscriptions: [],
  };
  const merged =
    group === null
      ? {}
      : mergedAlerts(check, {
          alertSettings: filledAlertSettings(group.own),
          useGlobalAlertSettings: group.useGlobal,
          alertChannelSubscriptions: [],
        });
  const { useGlobalAlertSettings, alertSettings } = { ...check, ...merged };
  return {
    settings: useGlobalAlertSettings ? filledAlertSettings(account) : alertSettings,
    ofGroup: group !== null && group.useGlobal !== null,
  };
}

type Flags = Pick<NotifiedChannel, 'sendFailure' | 'sendRecovery' | 'sendDegraded'>;

/** Whether a channel with these flags receives an alert. */
export function receivesAlert(
  { alertType, notifiedOfFailure }: Pick<RaisedAlert, 'alertType' | 'notifiedOfFailure'>,
  { sendFailure, sendRecovery, sendDegraded }: Flags,
): boolean {
  switch (alertType) {
    case 'ALERT_FAILURE':
    case 'ALERT_FAILURE_REMAIN':
    case 'ALERT_DEGRADED_FAILURE':
      return sendFailure;
    case 'ALERT_DEGRADED':
    case 'ALERT_DEGRADED_REMAIN':
    case 'ALERT_FAILURE_DEGRADED':
      return sendDegraded;
    case 'ALERT_RECOVERY':
    case 'ALERT_DEGRADED_RECOVERY':
      // A channel that was notified of a failure is notified of its recovery, even if the check was degraded in
      // between.
      return sendRecovery && (sendDegraded || notifiedOfFailure);
    default:
      return false;
  }
}
