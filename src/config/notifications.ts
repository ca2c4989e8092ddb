import type { Secret } from '../secrets/secret.ts';
import { fail, oneOf, secret, text, url, type Environment } from './read.ts';
import type { VariableName } from './variables.ts';

/** The variables of notification delivery: the mail server, and the URLs of the other channels. */

/** URL and credentials for the calls of one kind of channel. */
export type CallTarget = {
  readonly url: string | null;
  readonly token: Secret | null;
};

export type NotificationConfig = {
  readonly smtpUrl: Secret | null;
  readonly smtpFrom: string | null;
  /** Whether channels may name hosts inside the service's own network. Redirects never lead there. */
  readonly privateTargets: 'allow' | 'refuse';
  readonly chatAApp: CallTarget;
  /** Each channel has its own key. */
  readonly pagingAUrl: string | null;
  readonly pagingBUrl: string | null;
  /** URL for channels of the region EU; null = the same as for others. */
  readonly pagingBEuUrl: string | null;
  /** The scheme before a channel's key in the authorization header. */
  readonly pagingBScheme: string;
  readonly sms: CallTarget;
  readonly call: CallTarget;
};

/** Throws FatalError (78). */
export function readNotificationConfig(env: Environment): NotificationConfig {
  const smtpUrl = secret(env, 'SMTP_URL');
  if (smtpUrl !== null && !/^smtps?:\/\/./.test(URL.canParse(smtpUrl.reveal()) ? smtpUrl.reveal() : '')) {
    fail('SMTP_URL must be a URL like smtp://user:password@mail.example.com:587');
  }
  const smtpFrom = text(env, 'SMTP_FROM');
  if (smtpFrom !== null && !/^([^<>\r\n"]* <)?[^\s<>@"]+@[^\s<>@"]+>?$/.test(smtpFrom)) {
    fail(`SMTP_FROM must be an address like "Monitoring <alerts@example.com>", but is "${smtpFrom}"`);
  }
  const pagingBScheme = text(env, 'PAGING_B_AUTH_SCHEME') ?? 'Bearer';
  if (!/^[A-Za-z0-9-]{1,50}$/.test(pagingBScheme)) {
    fail('PAGING_B_AUTH_SCHEME must be one word of letters, digits or hyphens');
  }
  return Object.freeze({
    smtpUrl,
    smtpFrom,
    privateTargets: oneOf(env, 'NOTIFICATION_PRIVATE_TARGETS', ['allow', 'refuse'], 'allow'),
    chatAApp: { url: httpUrl(env, 'CHAT_A_APP_URL'), token: secret(env, 'CHAT_A_APP_TOKEN') },
    pagingAUrl: httpUrl(env, 'PAGING_A_URL'),
    pagingBUrl: httpUrl(env, 'PAGING_B_URL'),
    pagingBEuUrl: httpUrl(env, 'PAGING_B_EU_URL'),
    pagingBScheme,
    sms: { url: httpUrl(env, 'SMS_URL'), token: secret(env, 'SMS_TOKEN') },
    call: { url: httpUrl(env, 'CALL_URL'), token: secret(env, 'CALL_TOKEN') },
  });
}

/** Without a trailing slash. */
function httpUrl(env: Environment, name: VariableName): string | null {
  if (text(env, name) === null) return null;
  return url(env, name, '', ['http:', 'https:']).href.replace(/\/+$/, '');
}

/** The secrets among them, by name: none may be in a log line. */
export function notificationSecrets(config: NotificationConfig): { [name: string]: Secret | null } {
  return {
    smtpUrl: config.smtpUrl,
    chatAAppToken: config.chatAApp.token,
    smsToken: config.sms.token,
    callToken: config.call.token,
  };
}
