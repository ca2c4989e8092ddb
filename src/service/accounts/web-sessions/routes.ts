import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { version } from '../../../version.ts';
import { Nullable, StringEnum } from '../../../protocol/schema.ts';
import { roles } from '../../http/fields/roles.ts';
import type { ApiDeps, PublicApi } from '../../http/api.ts';
import { apiShape } from '../../http/body-shape.ts';
import { createCallLimit } from '../../http/call-limit.ts';
import { HttpError, TooManyRequests } from '../../http/errors.ts';
import { baseUrl } from '../../http/base-url.ts';
import { errorResponses } from '../../http/fields/api-errors.ts';
import { dateTime } from '../../http/fields/dates.ts';
import { open, strict } from '../../http/fields/strict-schema.ts';
import { checkInput } from '../../http/input-limits.ts';
import { bodyOrNone } from '../../http/optional-body.ts';
import { createApiKeyLookup } from '../keys/lookup.ts';
import { clearCookie, isDropped, readCookie, setCookie } from './cookie.ts';
import { foreignOrigin, originOfRequest } from './same-origin.ts';
import { sessionMs, type WebSessions } from './sessions.ts';
import { findIdentity } from './statements.ts';

/** Sign-in for the pages, in which a browser holds a cookie in place of an API key. */

const tags = ['Sign-in'];
const bodyBytes = 4096;
/** Sign-ins of one key in a minute: each one writes a row. */
const signInsPerMinute = 60;

export const SignedIn = open(
  Type.Object(
    {
      account: Type.Object({ id: Type.String({ format: 'uuid' }), name: Type.String() }),
      role: StringEnum(roles, {
        description: 'What the API key may do; each role may do all of the ones after it.',
      }),
      keyName: Type.String(),
      maskedKey: Type.String({ examples: ['...6a1e'] }),
      expiresAt: Nullable(dateTime, {
        description: 'When the session ends unless it is used; null: the key of the request does not expire.',
      }),
      serviceUrl: Type.String({ description: 'Address at which agents reach the service.' }),
      agentImage: Type.String({ description: 'Image of the agents that belong to this service.' }),
    },
    { $id: 'SignedIn', title: 'SignedIn' },
  ),
);

const SignInBody = strict(
  Type.Object({ apiKey: Type.String({ minLength: 1, maxLength: 512, pattern: '^\\S+$' }) }),
);

/** What a request's key or session is. Undefined = the key was deleted. */
async function identity(db: ApiDeps['db'], of: { apiKeyId: string; sessionId: string | null }) {
  const row = await findIdentity(db, of);
  if (row === undefined) return undefined;
  const ends = [
    ...(row.keyExpiresAt === null ? [] : [row.keyExpiresAt.getTime()]),
    ...(row.sessionUsedAt === null ? [] : [row.sessionUsedAt.getTime() + sessionMs]),
  ];
  return {
    account: { id: row.accountId, name: row.accountName },
    role: row.role,
    keyName: row.keyName,
    maskedKey: row.maskedKey,
    expiresAt: ends.length === 0 ? null : new Date(Math.min(...ends)).toISOString(),
  };
}

/** What commands that start agents need. */
const forAgents = ({ publicUrl, agentImage }: ApiDeps, request: FastifyRequest) => ({
  serviceUrl: baseUrl(publicUrl, request),
  agentImage: agentImage ?? `location-agent:${version}`,
});

const refuse = (reason: string) => new HttpError(401, `The API key ${reason}.`, { apiKey: [reason] });

/** Registers sign-in and sign-out, which need no authentication. */
export function registerSignIn(app: FastifyInstance, deps: ApiDeps, sessions: WebSessions): void {
  void app.register(async (instance) => {
    instance.addHook('preValidation', checkInput);
    instance.addHook('onRoute', (route) => {
      route.bodyLimit = bodyBytes;
      route.config = { ...route.config, shape: apiShape };
    });
    const api = instance.withTypeProvider<TypeBoxTypeProvider>();
    registerSignInByKey(api, deps, sessions);
    registerSignOut(api, deps, sessions);
  });
}

function registerSignInByKey(api: PublicApi, deps: ApiDeps, sessions: WebSessions): void {
  const { db, now, wrongKeys, rateLimit = 0 } = deps;
  const ownerOf = createApiKeyLookup({ db, now, wrongKeys, refuse });
  const limit = createCallLimit({ perMinute: signInsPerMinute, now });

  api.post(
    '/v1/sign-in',
    {
      schema: {
        operationId: 'signIn',
        tags,
        summary: 'Sign a browser in: the answer sets a cookie that takes the place of the API key',
        description:
          'The session ends 30 days after its last use, with its key, or by POST /v1/sign-out. Sign-in needs no other ' +
          'authentication, and ends the session that the browser had.',
        security: [],
        body: SignInBody,
        response: { 200: Type.Ref('SignedIn'), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => {
      // Another site must not sign a visitor in with a key of its own.
      refuseForeign(request, deps);
      if (isDropped(request, deps)) throw withoutTls(deps);
      const { apiKeyId } = await ownerOf(`Bearer ${request.body.apiKey}`, request.ip);
      if (rateLimit > 0 && !limit.take(apiKeyId)) {
        throw new TooManyRequests('Too many sign-ins with this API key', limit.secondsLeft());
      }
      const session = await sessions.start(apiKeyId, readCookie(request, deps));
      const body = session === null ? undefined : await identity(db, { apiKeyId, sessionId: session.id });
      // The key was deleted, or expired, within the last seconds.
      if (session === null || body === undefined) throw refuse('is not valid');
      setCookie({ request, reply, token: session.token }, deps);
      void reply.header('cache-control', 'no-store');
      return { ...body, ...forAgents(deps, request) };
    },
  );
}

function registerSignOut(api: PublicApi, deps: ApiDeps, sessions: WebSessions): void {
  api.post(
    '/v1/sign-out',
    {
      preValidation: bodyOrNone,
      schema: {
        operationId: 'signOut',
        tags,
        summary: 'End the session of the cookie, and delete the cookie',
        description: 'Also answers 204 if there is no session.',
        security: [],
        body: strict(Type.Object({})),
        response: { 204: Type.Null({ description: 'Signed out' }), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => {
      const token = readCookie(request, deps);
      const origin = originOfRequest(request, deps);
      // Even without the cookie: a form of another site does not send it, but the answer would delete it.
      if (origin === 'foreign' || (origin === 'unknown' && token !== null)) throw foreignOrigin(origin);
      if (token !== null) await sessions.end(token);
      clearCookie({ request, reply }, deps);
      return reply.code(204).send(null);
    },
  );
}

const withoutTls = ({ publicUrl }: ApiDeps) =>
  new HttpError(
    400,
    `Sign in at ${publicUrl ?? 'the https address'}: browsers keep a session only with TLS.`,
    {
      origin: ['is not https'],
    },
  );

function refuseForeign(request: FastifyRequest, deps: ApiDeps): void {
  const origin = originOfRequest(request, deps);
  if (origin === 'foreign') throw foreignOrigin(origin);
}

/** Registers the route that shows who is signed in. It needs authentication. */
export function registerMe(api: PublicApi, deps: ApiDeps): void {
  api.get(
    '/v1/me',
    {
      schema: {
        operationId: 'getMe',
        tags,
        summary: 'The account, API key and role of this request',
        response: { 200: Type.Ref('SignedIn'), ...errorResponses() },
      },
    },
    async (request, reply) => {
      const { apiKeyId, sessionId } = request;
      const body = await identity(deps.db, { apiKeyId, sessionId });
      if (body === undefined) throw refuse('is not valid');
      void reply.header('cache-control', 'no-store');
      return { ...body, ...forAgents(deps, request) };
    },
  );
}

/**
 * preHandler hook of the page /sign-in: an address with a token signs in once. Without a token, the page is sent.
 */
export function createSignInOnce(deps: ApiDeps, sessions: WebSessions) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { token } = request.query as { token?: unknown }; // of any shape
    // Programs that look at addresses before people open them send HEAD.
    if (token === undefined || request.method !== 'GET') return undefined;
    const session =
      typeof token === 'string' ? await sessions.startOnce(token, readCookie(request, deps)) : null;
    void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    if (session === null) {
      deps.wrongKeys?.check(request.ip);
      deps.wrongKeys?.count(request.ip);
      return reply.redirect('/sign-in?reason=used', 303);
    }
    setCookie({ request, reply, token: session.token }, deps);
    return reply.redirect('/', 303);
  };
}
