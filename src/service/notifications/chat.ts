import { alertTitle } from '../alerting/alert-types.ts';
import { alertFacts, resultLink, severityOf } from './alert-variables.ts';
import { notConfigured, postJson, type Delivery, type Sender } from './sender.ts';
import type { Answer } from './http-call.ts';

/** CHAT_A and CHAT_A_APP: a message in a room, with the alert's facts in an attachment. */

const colours = { failed: '#d33030', degraded: '#e0a010', recovered: '#2c9a4b' };

function message(delivery: Delivery): object {
  const title = alertTitle(delivery.alert);
  const link = resultLink(delivery);
  return {
    text: title,
    attachments: [
      {
        color: colours[severityOf(delivery.alert)],
        fallback: title,
        title,
        ...(link === null ? {} : { title_link: link }),
        fields: alertFacts(delivery).map(({ name, text }) => ({
          title: name,
          value: plain(text),
          short: text.length <= 40,
        })),
      },
    ],
  };
}

/** Characters that would turn a text into a link or a mention. */
const plain = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').slice(0, 2000);

/** Sends to the webhook of a room. */
export const sendChat: Sender<'CHAT_A'> = async (delivery, deps) => {
  const { url, channel } = delivery.config;
  return postJson(delivery, deps, {
    url,
    of: 'channel',
    body: { ...(channel === '' ? {} : { channel }), ...message(delivery) },
  });
};

/** Sends through the configured app, room by room. */
export const sendChatApp: Sender<'CHAT_A_APP'> = async (delivery, deps) => {
  const { url, token } = deps.config.chatAApp;
  if (url === null) return notConfigured('CHAT_A_APP_URL');
  const authorization = token === null ? null : `Bearer ${token.reveal()}`;
  const reached = [...delivery.reached];
  const problems: string[] = [];
  let retry = false;
  for (const channel of delivery.config.channels.filter((name) => !reached.includes(name))) {
    const body = { channel, ...message(delivery) };
    const outcome = await postJson(
      delivery,
      deps,
      { url, of: 'configuration', authorization, body },
      refusalOf,
    );
    if (outcome.delivered) {
      reached.push(channel);
      continue;
    }
    problems.push(`${channel}: ${outcome.result}`);
    retry ||= outcome.retry;
  }
  if (problems.length > 0) return { delivered: false, result: problems.join('; '), retry, reached };
  return { delivered: true, result: `sent to ${reached.join(', ')}`, reached };
};

/** This API reports errors with a success status and `"ok": false`. */
function refusalOf({ text }: Answer): string | null {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof answer !== 'object' || answer === null || !('ok' in answer) || answer.ok !== false) return null;
  return 'error' in answer ? `refused: ${String(answer.error)}` : 'refused';
}
