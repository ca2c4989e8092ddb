import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import Type from 'typebox';
import { version } from '../../../version.ts';
import { neededRole, type Role } from '../fields/roles.ts';
import { liftStyles } from './openapi-styles.ts';

const description = `Checks, locations, results and statuses.

Every request carries an API key: \`Authorization: Bearer <API key>\`. The header \`x-service-account\` may name the account;
the API key's account is the default, and any other is refused with 403. Browsers may sign in (\`POST /v1/sign-in\`) and
then send a cookie in place of the key.

An API key has a role: ADMIN, READ_WRITE, READ_RUN or READ_ONLY, each of which may do all that the ones after it may do.
\`x-role\` names the role that an operation needs; a key of a lesser role gets 403.

Every error is \`{statusCode, error, message, attributes}\`; attributes names each bad field by its dotted path. Unknown fields
are errors. A JSON body may be compressed: \`content-encoding: gzip\`. The limit of its size is that of the unpacked body.
A change (PUT) replaces the fields that it names and leaves the others as they are.`;

const accountHeader = Type.Object({
  'x-service-account': Type.Optional(
    Type.String({ description: "Id of the account; only the API key's own is accepted." }),
  ),
});

/** The role that an operation needs, unless it needs no API key. */
function roleOf(schema: FastifySchema, { method, config }: RouteOptions): { 'x-role'?: Role } {
  if (schema.security !== undefined) return {};
  return { 'x-role': neededRole([method].flat()[0] ?? 'GET', config?.access) };
}

/** Content security policy of the documentation page. The page loads only its own files and can call this service. */
const docsPolicy = {
  'default-src': "'none'",
  'script-src': "'self'",
  // Its components use inline styles.
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/**
 * Collects the routes' schemas into an OpenAPI 3.1 document, served at /openapi.json and as a page at /docs. Register
 * it before the routes.
 */
export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Monitoring Service API',
        version,
        description,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      tags: [
        'Checks',
        'Check groups',
        'Heartbeats',
        'Triggers',
        'Badges',
        'Playwright bundles',
        'Snippets',
        'Variables',
        'Client certificates',
        'Runtimes',
        'Locations',
        'Results',
        'Analytics',
        'Check sessions',
        'Test sessions',
        'Maintenance windows',
        'Accounts',
        'Sign-in',
        'Service',
      ].map((name) => ({ name })),
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: 'session',
            description: 'Set by POST /v1/sign-in; behind TLS its name is __Host-session.',
          },
        },
      },
      security: [{ apiKey: [] }, { session: [] }],
    },
    // Only for the document: the authentication checks the header, not a schema.
    transform: ({ schema, url, route }) => ({
      schema: /^\/v[12]\//.test(url)
        ? { ...schema, headers: accountHeader, ...roleOf(schema, route) }
        : schema,
      url,
    }),
    transformObject: (document) => {
      const made = 'openapiObject' in document ? document.openapiObject : document.swaggerObject;
      liftStyles(made);
      return made;
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json['$id'] === 'string' ? json['$id'] : `schema${index}`,
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: docsPolicy,
    // The validator is a third-party service.
    theme: { title: 'Monitoring Service API' },
    uiConfig: {
      layout: 'BaseLayout',
      validatorUrl: null,
      deepLinking: true,
      docExpansion: 'none',
      filter: true,
    },
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
}
