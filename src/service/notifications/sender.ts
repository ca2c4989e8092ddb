import type { NotificationConfig } from '../../config/notifications.ts';
import type { Analysis } from '../analyses/statements.ts';
import type { AlertRow } from '../alerting/statements.ts';
import type { ChannelConfig, ChannelType } from '../alert-channels/configs.ts';
import { type Call, type Calling, type Outcome, callTarget, type Answer } from './http-call.ts';
import type { SendMail } from './mail.ts';
import type { Variables } from '../../templates/scope.ts';

/** One notification to one channel, and code that all senders share. */
export type Delivery<T extends ChannelType = ChannelType> = {
  /** The same at every try, so that receivers can recognise duplicates. */
  notificationId: string;
  alert: AlertRow;
  /** In plain text. */
  config: ChannelConfig<T>;
  publicUrl: string;
  /** Analysis of the alert's error, if there is one. */
  analysis?: { id: string; analysis: Analysis } | undefined;
  /** Variables for templates, in addition to those of the alert. */
  environment: Variables;
  /** With several recipients: those that an earlier try has reached. */
  reached: readonly string[];
};

export type SendingDeps = {
  config: NotificationConfig;
  calling: Calling;
  sendMail: SendMail;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Fires when the service is stopping. */
  signal: AbortSignal;
};

/** `reached`: with several recipients, those that have been reached so far. */
export type Sent = Outcome & { reached?: readonly string[] };

export type Sender<T extends ChannelType> = (delivery: Delivery<T>, deps: SendingDeps) => Promise<Sent>;

/** Headers by which receivers recognise duplicates. */
export const deliveryHeaders = (notificationId: string): { [name: string]: string } => ({
  'x-service-delivery': notificationId,
  'idempotency-key': notificationId,
});

export const userAgent = 'private-location-service';

/** The channel's variable is not set, so a retry would not help. */
export function notConfigured(variable: string): Outcome {
  return {
    delivered: false,
    result: `${variable} is not set, so this channel cannot be used`,
    retry: false,
  };
}

/** Posts JSON to a URL of the configuration or of the channel. Addresses of channels are restricted. */
export async function postJson(
  { notificationId }: Delivery,
  { calling, signal }: SendingDeps,
  call: { url: string; of: 'configuration' | 'channel'; authorization?: string | null; body: object },
  problemOf?: (answer: Answer) => string | null,
): Promise<Outcome> {
  const { url, of, authorization = null, body } = call;
  const request: Call = {
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...deliveryHeaders(notificationId),
      ...(authorization === null ? {} : { authorization }),
    },
    ownHeaders: ['authorization'],
    body: JSON.stringify(body),
  };
  const privateTargets = of === 'configuration' ? 'allow' : calling.privateTargets;
  return callTarget(request, { ...calling, privateTargets }, signal, problemOf);
}
