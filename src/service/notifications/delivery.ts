import type { NotificationConfig } from '../../config/notifications.ts';
import type { Analysis } from '../analyses/statements.ts';
import type { AlertRow } from '../alerting/statements.ts';
import type { ChannelConfig, ChannelType } from '../alert-channels/configs.ts';
import { type Call, type Calling, type Outcome, callTarget, type Answer } from './http-call.ts';
import type { SendMail } from './mail.ts';
import type { Variables } from '../../templates/scope.ts';

/** One notification on its way to one channel, and what the ways have in common. */
export type Delivery<T extends ChannelType = ChannelType> = {
  /** The same at every try: receivers recognise what they have had already by it. */
  notificationId: string;
  alert: AlertRow;
  /** In the clear. */
  config: ChannelConfig<T>;
  publicUrl: string;
  /** Of the alert's error, where there is one. */
  analysis?: { id: string; analysis: Analysis } | undefined;
  /** For templates, besides those of the alert. */
  environment: Variables;
  /** Of several addressees, those that have been told at an earlier try. */
  told: readonly string[];
};

export type SendingDeps = {
  config: NotificationConfig;
  calling: Calling;
  sendMail: SendMail;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Fires when the service stops. */
  signal: AbortSignal;
};

/** `told`: where there are several addressees, those that have been told by now. */
export type Sent = Outcome & { told?: readonly string[] };

export type Sender<T extends ChannelType> = (delivery: Delivery<T>, deps: SendingDeps) => Promise<Sent>;

/** Recognises a notification that comes twice. */
export const deliveryHeader = 'x-service-delivery';

export const userAgent = 'private-location-service';

/** A channel whose variable is not set: another try does not help. */
export function notConfigured(variable: string): Outcome {
  return {
    delivered: false,
    result: `${variable} is not set, so this channel can not be used`,
    retry: false,
  };
}

/** A POST of JSON, to a URL of the configuration or of the channel: the latter may not go everywhere. */
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
      [deliveryHeader]: notificationId,
      ...(authorization === null ? {} : { authorization }),
    },
    ownHeaders: ['authorization'],
    body: JSON.stringify(body),
  };
  const privateTargets = of === 'configuration' ? 'allow' : calling.privateTargets;
  return callTarget(request, { ...calling, privateTargets }, signal, problemOf);
}
