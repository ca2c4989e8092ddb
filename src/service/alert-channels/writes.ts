import type { FastifyRequest } from 'fastify';
import type { AlertChannelRow, AlertChannelWrite } from './statements.ts';
import {
  shareLockSubscribers,
  type ChannelSubscription,
  type Subscriber,
} from './subscription-statements.ts';
import type { Db } from '../db/database.ts';
import { badRequest } from '../http/errors.ts';
import { validationAttributes } from '../http/validation-errors.ts';
import {
  keepConfigSecrets,
  openConfig,
  sealConfig,
  type ChannelConfig,
  type ChannelType,
} from './configs.ts';
import { parseTemplate } from './template.ts';
import { TemplateError } from '../../templates/template-error.ts';
import { configSchemas, type ChangeChannel, type CreateChannel, type SubscriptionBody } from './schema.ts';
import { createProblems, type Problems } from '../http/problems.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps } from '../http/api.ts';

/** Turns the body of an alert channel into the row to write, and refuses what no schema can express. */

/** Validates a config by the schema of its type and fills in defaults. Throws the error of a bad request. */
function validConfig(request: FastifyRequest, type: ChannelType, config: object): ChannelConfig {
  const schema = configSchemas[type];
  if (schema === undefined) throw new Error(`no schema of ${type}`);
  const validate = request.compileValidationSchema(schema, 'body');
  const holder = { config };
  if (!validate(holder)) throw badRequest(validationAttributes(validate.errors ?? [], 'config'));
  return holder.config as ChannelConfig; // valid by the schema of its type
}

/** Headers that HTTP clients set themselves. */
const ownHeaders = [
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

function checkHeaders(headers: ChannelConfig<'WEBHOOK'>['headers'], problems: Problems): void {
  for (const [index, { key, value }] of headers.entries()) {
    const field = `config.headers.${index}`;
    if (ownHeaders.includes(key.toLowerCase()))
      problems.add(`${field}.key`, `must not be ${key}: the service sets it`);
    if (!/^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)) {
      problems.add(
        `${field}.value`,
        'must have no line breaks, control characters, or characters beyond Latin-1',
      );
    }
  }
}

async function checkWebhook(type: ChannelType, config: object, problems: Problems): Promise<void> {
  if (type !== 'WEBHOOK') return;
  const { url, template, headers } = config as ChannelConfig<'WEBHOOK'>; // valid by the schema of its type
  checkHeaders(headers, problems);
  for (const [field, text] of Object.entries({ url, template: template ?? '' })) {
    try {
      await parseTemplate(text);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      problems.add(`config.${field}`, error.message);
    }
  }
  if (url.includes('{{')) return;
  if (!/^https?:\/\//i.test(url)) problems.add('config.url', 'must begin with http:// or https://');
  else if (!URL.canParse(url)) problems.add('config.url', 'is not a URL');
}

/** The subscriber that a subscription body names. Problems are added to `problems`. */
export function subscriberOf(body: SubscriptionBody, at: string, problems: Problems): Subscriber | null {
  const { checkId = null, groupId = null } = body;
  if ((checkId === null) === (groupId === null)) {
    problems.add(
      `${at}checkId`,
      checkId === null ? 'or groupId is required' : 'and groupId exclude each other',
    );
    return null;
  }
  if (checkId !== null) return { checkId, groupId: null };
  return groupId === null ? null : { checkId: null, groupId };
}

/**
 * Checks and groups that the account does not have are problems. The others are locked against deletion until `tx`
 * ends.
 */
export async function checkSubscribers(
  tx: Db,
  options: { accountId: string; subscribers: readonly (Subscriber & { at: string })[]; problems: Problems },
): Promise<void> {
  const { accountId, subscribers, problems } = options;
  const checkIds = subscribers.flatMap(({ checkId }) =>
    checkId !== null && isUuid(checkId) ? [checkId] : [],
  );
  const groupIds = subscribers.flatMap(({ groupId }) => groupId ?? []);
  const known = await shareLockSubscribers(tx, { accountId, checkIds, groupIds });
  for (const { checkId, groupId, at } of subscribers) {
    if (checkId !== null && !known.checks.has(checkId)) {
      problems.add(`${at}checkId`, `names no check of this account (${checkId})`);
    }
    if (groupId !== null && !known.groups.has(groupId)) {
      problems.add(`${at}groupId`, `names no check group of this account (${groupId})`);
    }
  }
}

async function validSubscriptions(
  tx: Db,
  options: { accountId: string; given: readonly SubscriptionBody[]; problems: Problems },
): Promise<ChannelSubscription[]> {
  const { accountId, given, problems } = options;
  const named = given.flatMap((body, index) => {
    const at = `subscriptions.${index}.`;
    const subscriber = subscriberOf(body, at, problems);
    return subscriber === null ? [] : [{ ...subscriber, activated: body.activated, at }];
  });
  const seen = new Set<string | number>();
  for (const { checkId, groupId, at } of named) {
    const id = checkId ?? groupId;
    if (seen.has(id)) problems.add(`${at}${checkId === null ? 'groupId' : 'checkId'}`, 'is given twice');
    seen.add(id);
  }
  await checkSubscribers(tx, { accountId, subscribers: named, problems });
  return named;
}

type Prepared = {
  channel: AlertChannelWrite;
  /** Null = unchanged. */
  subscriptions: ChannelSubscription[] | null;
};

/** Validates a new channel (`row` null) or a change and returns the values to write. */
export async function prepareChannel(
  tx: Db,
  deps: ApiDeps,
  options: {
    request: FastifyRequest;
    body: CreateChannel | ChangeChannel;
    row: AlertChannelRow | null;
  },
): Promise<Prepared> {
  const { request, body, row } = options;
  const { accountId } = request;
  const problems = createProblems();
  const type = row?.type ?? body.type;
  if (type === undefined) throw badRequest({ type: ['is required'] });
  if (body.type !== undefined && body.type !== type) {
    throw badRequest({ type: ['cannot be changed: delete the channel and create another one'] });
  }
  const stored = row === null ? null : openConfig(type, row.config, deps.encryption);
  let config: object = stored ?? {};
  const isPartial = 'isPartial' in body && body.isPartial === true;
  if (body.config !== undefined) {
    const given = isPartial ? { ...stored, ...body.config } : body.config;
    const kept = keepConfigSecrets(type, validConfig(request, type, given), stored);
    for (const field of kept.missing) problems.add(`config.${field}`, 'is required');
    config = kept.config;
    await checkWebhook(type, config, problems);
  }
  const given = isPartial ? undefined : body.subscriptions;
  const subscriptions =
    given === undefined ? null : await validSubscriptions(tx, { accountId, given, problems });
  const attributes = problems.attributes();
  if (attributes !== null) throw badRequest(attributes);
  return {
    channel: {
      accountId,
      type,
      config: sealConfig(type, { ...config }, deps.encryption),
      sendRecovery: body.sendRecovery ?? row?.sendRecovery ?? true,
      sendFailure: body.sendFailure ?? row?.sendFailure ?? true,
      sendDegraded: body.sendDegraded ?? row?.sendDegraded ?? false,
      sslExpiry: body.sslExpiry ?? row?.sslExpiry ?? false,
      sslExpiryThreshold: body.sslExpiryThreshold ?? row?.sslExpiryThreshold ?? 30,
      autoSubscribe: body.autoSubscribe ?? row?.autoSubscribe ?? false,
      now: new Date(deps.now()),
    },
    subscriptions,
  };
}
