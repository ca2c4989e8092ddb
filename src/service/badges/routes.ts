import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { errorResponses } from '../http/fields/api-errors.ts';
import { checkInput } from '../http/input-limits.ts';
import { isUuid, numberId } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import type { Authenticate } from '../accounts/auth.ts';
import { badgeOfCheck, badgeOfGroup, type BadgeCheck } from './statements.ts';
import { findCheck } from '../checks/storage/statements.ts';
import { findCheckGroup } from '../checks/storage/group-statements.ts';
import { EncryptionError, type Encryption } from '../engine/encryption.ts';
import { notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { stateOf, type Badge } from './badge.ts';
import { sendBadge, StyleFields, styleFields, svg } from './image.ts';
import { registerPageBadge } from './page-badge.ts';
import { dayMs } from '../../durations.ts';
import { shareOf } from '../../rounding.ts';

/**
 * Badges for web pages that cannot send an API key. A check's badge is public, because its id cannot be guessed.
 * A group's id is a number, so its badge needs a key in the URL, which GET /v1/badges/groups/{id}/url returns. Neither
 * key is needed with an API key.
 */

const keyText = (groupId: number) => `badge of the group ${groupId}`;

function isKeyOf(encryption: Encryption, key: string | undefined, groupId: number): boolean {
  if (key === undefined) return false;
  try {
    return encryption.open(key) === keyText(groupId);
  } catch (error) {
    if (error instanceof EncryptionError) return false;
    throw error;
  }
}

/** Percentage of passed runs, with at most two decimal places; null without runs. */
const percent = (checks: readonly BadgeCheck[]): number | null => {
  const runs = checks.reduce((sum, check) => sum + check.runs, 0);
  const up = checks.reduce((sum, check) => sum + check.up, 0);
  // Never rounded up to 100.
  return shareOf(up, runs);
};

const mean = (times: readonly number[]): number | null =>
  times.length === 0 ? null : times.reduce((sum, time) => sum + time, 0) / times.length;

function badgeOf(name: string, checks: readonly BadgeCheck[], asked: StyleFields): Badge {
  const active = checks.filter(({ activated }) => activated);
  const times = active.flatMap(({ responseTime }) => (responseTime === null ? [] : [responseTime]));
  return {
    name,
    state: stateOf(checks),
    responseTime: asked.responseTime ? mean(times) : null,
    availability: asked.availability ? percent(active) : null,
  };
}

/** Routes of the images, which need no API key. */
export function registerBadges(app: FastifyInstance, deps: ApiDeps, authenticate: Authenticate): void {
  const { db, encryption, now } = deps;
  const since = () => new Date(now() - dayMs);
  void app.register(async (instance) => {
    instance.addHook('onRequest', async (request, reply) => {
      // With an API key, only the account's own badges are visible.
      if (request.headers.authorization !== undefined) await authenticate(request, reply);
    });
    instance.addHook('preValidation', checkInput);
    const routes = instance.withTypeProvider<TypeBoxTypeProvider>();
    const accountOf = ({ accountId }: FastifyRequest) => (accountId === '' ? null : accountId);

    registerPageBadge(routes, deps, { accountOf });
    routes.get(
      '/v1/badges/checks/:id',
      {
        schema: {
          operationId: 'getCheckBadge',
          tags: ['Badges'],
          summary: 'Badge of a check',
          description: 'Needs no API key: whoever has the id may see it.',
          security: [],
          params: Type.Object({ id: Type.String() }),
          querystring: strict(StyleFields),
          response: { 200: svg, 304: Type.Null({ description: 'Not changed' }), ...errorResponses(400, 404) },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        const check = isUuid(id)
          ? await badgeOfCheck(db, {
              id,
              accountId: accountOf(request),
              since: since(),
              counts: request.query.availability,
            })
          : undefined;
        if (check === undefined) throw notFound('check', id);
        return sendBadge(request, reply, badgeOf(check.name, [check], request.query), request.query);
      },
    );

    routes.get(
      '/v1/badges/groups/:id',
      {
        schema: {
          operationId: 'getCheckGroupBadge',
          tags: ['Badges'],
          summary: 'Badge of a check group: as its worst check',
          description: 'Needs an API key, or the key that GET /v1/badges/groups/{id}/url gives.',
          security: [{ apiKey: [] }, {}],
          params: Type.Object({ id: Type.String() }),
          querystring: strict(
            Type.Object({ ...styleFields, key: Type.Optional(Type.String({ maxLength: 512 })) }),
          ),
          response: { 200: svg, 304: Type.Null({ description: 'Not changed' }), ...errorResponses(400, 404) },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        const accountId = accountOf(request);
        const number = numberId(id);
        const mayView =
          number !== null && (accountId !== null || isKeyOf(encryption, request.query.key, number));
        const group = mayView
          ? await badgeOfGroup(db, {
              id: number,
              accountId,
              since: since(),
              counts: request.query.availability,
            })
          : undefined;
        if (group === undefined) throw notFound('check group', id);
        return sendBadge(request, reply, badgeOf(group.name, group.checks, request.query), request.query);
      },
    );
  });
}

const BadgeUrl = Type.Object({ url: Type.String() });
const Params = strict(Type.Object({ id: Type.String() }));

/** Routes that return the URLs of the images; they need an API key. */
export function registerBadgeUrls(api: PublicApi, { db, encryption, publicUrl }: ApiDeps): void {
  api.get(
    '/v1/badges/checks/:id/url',
    {
      schema: {
        operationId: 'getCheckBadgeUrl',
        tags: ['Badges'],
        summary: 'The public URL of the badge of a check',
        params: Params,
        response: { 200: BadgeUrl, ...errorResponses(404) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { accountId } = request;
      const check = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
      if (check === undefined) throw notFound('check', id);
      return { url: `${baseUrl(publicUrl, request)}/v1/badges/checks/${check.id}` };
    },
  );
  api.get(
    '/v1/badges/groups/:id/url',
    {
      schema: {
        operationId: 'getCheckGroupBadgeUrl',
        tags: ['Badges'],
        summary: 'A public URL of the badge of a check group',
        params: Params,
        response: { 200: BadgeUrl, ...errorResponses(404) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { accountId } = request;
      const number = numberId(id);
      const group = number === null ? undefined : await findCheckGroup(db, { accountId, id: number });
      if (group === undefined) throw notFound('check group', id);
      const key = encodeURIComponent(encryption.seal(keyText(group.id)));
      return { url: `${baseUrl(publicUrl, request)}/v1/badges/groups/${group.id}?key=${key}` };
    },
  );
}
