import { createHmac } from 'node:crypto';
import type { Escaping } from '../../templates/escaping.ts';
import type { Variables } from '../../templates/scope.ts';
import { TemplateError } from '../../templates/template-error.ts';
import { alertVariables } from './alert-variables.ts';
import { deliveryHeaders, userAgent, type Sender } from './sender.ts';
import { callTarget } from './http-call.ts';
import { parseTemplate, renderTemplate } from '../alert-channels/template.ts';
import { presetOf } from './webhook-presets.ts';

/** WEBHOOK: a request that the owner defines with templates for URL and body. */

/** Escapes values of `{{X}}` for a body's content type, so that the surrounding document stays valid. */
function escapingOf(contentType: string): Escaping {
  if (/[/+](html|xml)\b/i.test(contentType)) return 'html';
  return /\bx-www-form-urlencoded\b/i.test(contentType) ? 'uri' : 'json';
}

async function render(options: {
  field: string;
  template: string;
  escaping: Escaping;
  variables: Variables;
  now: () => number;
}): Promise<string> {
  try {
    return renderTemplate(await parseTemplate(options.template), options);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new TemplateError(`${options.field}: ${error.message}`);
  }
}

export const sendWebhook: Sender<'WEBHOOK'> = async (delivery, { calling, now, signal }) => {
  const { config, notificationId } = delivery;
  const preset = presetOf(config);
  const variables: Variables = { ...delivery.environment, ...alertVariables(delivery) };
  // For duplicate header names the later one counts; ours come last.
  const own = Object.fromEntries(config.headers.map(({ key, value }) => [key.toLowerCase(), value]));
  let url: string;
  let body: string;
  try {
    url = withQuery(
      (await render({ field: 'url', template: config.url, escaping: 'uri', variables, now })).trim(),
      config.queryParameters,
    );
    const escaping = escapingOf(own['content-type'] ?? '');
    const template = preset ?? config.template ?? '';
    body = await render({ field: 'template', template, escaping, variables, now });
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { delivered: false, result: error.message, retry: false };
  }
  const { webhookSecret } = config;
  const headers = {
    ...(body === '' ? {} : { 'content-type': 'application/json' }),
    'user-agent': userAgent,
    ...own,
    'x-service-timestamp': String(now()),
    ...deliveryHeaders(notificationId),
  };
  const ownHeaders = Object.keys(own).filter((name) => name !== 'content-type');
  const signature =
    webhookSecret === null || webhookSecret === ''
      ? {}
      : {
          signature: {
            header: 'x-service-signature',
            of: (sent: string) => createHmac('sha256', webhookSecret).update(sent).digest('hex'),
          },
        };
  const call = { method: config.method, url, headers, ownHeaders, body, ...signature };
  return callTarget(call, calling, signal);
};

function withQuery(url: string, parameters: readonly { key: string; value: string }[]): string {
  if (parameters.length === 0 || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  for (const { key, value } of parameters) parsed.searchParams.append(key, value);
  return parsed.href;
}
