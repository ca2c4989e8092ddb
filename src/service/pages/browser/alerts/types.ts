/** Alerts, notifications and channels as the API shows them. */

export type Alert = {
  readonly id: string;
  readonly name: string;
  readonly alertType: string;
  readonly error: string | null;
  readonly created_at: string;
  /** Of alerts about checks. */
  readonly checkId?: string;
  readonly runLocation?: string | null;
  readonly isReminder?: boolean;
  readonly isLate?: boolean;
  readonly statusCode?: number | null;
  /** Of alerts about locations. */
  readonly locationId?: string;
};

export type Notification = {
  readonly id: string;
  readonly type: string;
  readonly status: 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE' | 'RATE_LIMITED' | 'SUPERSEDED';
  readonly alertChannelId: number;
  readonly alertId: string | null;
  readonly alertType: string;
  readonly checkId: string | null;
  readonly notificationResult: string | null;
  readonly attempts: number;
  readonly timestamp: string;
};

export type Subscription = {
  readonly activated: boolean;
  readonly checkId: string | null;
  readonly groupId: number | null;
};

export type Config = { readonly [field: string]: unknown };

export type Channel = {
  readonly id: number;
  readonly type: string;
  readonly config: Config;
  readonly subscriptions: readonly Subscription[];
  readonly isPartial?: boolean;
  readonly sendRecovery: boolean;
  readonly sendFailure: boolean;
  readonly sendDegraded: boolean;
  readonly sslExpiry: boolean;
  readonly sslExpiryThreshold: number;
  readonly autoSubscribe: boolean;
};

const words: { readonly [type: string]: { readonly status: string; readonly word: string } } = {
  NO_ALERT: { status: 'passed', word: 'passed' },
  ALERT_FAILURE: { status: 'failing', word: 'failed' },
  ALERT_FAILURE_REMAIN: { status: 'failing', word: 'still failing' },
  ALERT_DEGRADED_FAILURE: { status: 'failing', word: 'failed, was degraded' },
  ALERT_DEGRADED: { status: 'degraded', word: 'degraded' },
  ALERT_DEGRADED_REMAIN: { status: 'degraded', word: 'still degraded' },
  ALERT_FAILURE_DEGRADED: { status: 'degraded', word: 'degraded, had failed' },
  ALERT_RECOVERY: { status: 'passed', word: 'recovered' },
  ALERT_DEGRADED_RECOVERY: { status: 'passed', word: 'recovered from degraded' },
  ALERT_SSL: { status: 'degraded', word: 'certificate expires' },
  ALERT_LOCATION_NETWORK: { status: 'failing', word: 'network failed' },
  ALERT_LOCATION_NETWORK_RECOVERY: { status: 'passed', word: 'network works again' },
};

/** The status and the word of an alert type. */
export const wordOf = (alertType: string): { status: string; word: string } =>
  words[alertType] ?? { status: 'waiting', word: alertType };

export const checkAlertTypes = Object.keys(words).filter(
  (type) => type !== 'NO_ALERT' && !type.startsWith('ALERT_LOCATION_'),
);
export const locationAlertTypes = Object.keys(words).filter((type) => type.startsWith('ALERT_LOCATION_'));

/** What a channel calls itself: its name, address, URL or number. */
export function nameOf({ id, type, config }: Pick<Channel, 'id' | 'type' | 'config'>): string {
  for (const field of ['name', 'address', 'serviceName', 'number', 'url']) {
    const value = config[field];
    if (typeof value === 'string' && value !== '' && value !== '*********') return value;
  }
  const rooms = config['channels'];
  if (Array.isArray(rooms) && rooms.length > 0) return rooms.join(', ');
  return `${type} ${id}`;
}
