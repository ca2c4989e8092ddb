import { alertTitle } from '../alerting/alert-types.ts';
import { resultLink } from './alert-variables.ts';
import { notConfigured, postJson, type Delivery, type Sender } from './sender.ts';

/** SMS and CALL: a configured gateway sends a text message or reads it out on a call. */

const body = (delivery: Delivery<'SMS' | 'CALL'>, message: string) => ({
  to: delivery.config.number.replaceAll(/[^+0-9]/g, ''),
  name: delivery.config.name,
  message,
});

const bearer = (token: { reveal(): string } | null) => (token === null ? null : `Bearer ${token.reveal()}`);

export const sendSms: Sender<'SMS'> = async (delivery, deps) => {
  const { url, token } = deps.config.sms;
  if (url === null) return notConfigured('SMS_URL');
  const link = resultLink(delivery);
  const message = `${shortTitle(delivery)}${link === null ? '' : ` ${link}`}`;
  return postJson(delivery, deps, {
    url,
    of: 'configuration',
    authorization: bearer(token),
    body: body(delivery, message),
  });
};

export const sendCall: Sender<'CALL'> = async (delivery, deps) => {
  const { url, token } = deps.config.call;
  if (url === null) return notConfigured('CALL_URL');
  return postJson(delivery, deps, {
    url,
    of: 'configuration',
    authorization: bearer(token),
    body: body(delivery, `${shortTitle(delivery)}.`),
  });
};

const shortTitle = ({ alert }: Delivery): string =>
  alertTitle({ ...alert, checkName: alert.checkName.slice(0, 80) });
