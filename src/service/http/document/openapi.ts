import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import Type from 'typebox';
import { version } from '../../../version.ts';
import { neededRole, type Role } from '../fields/roles.ts';
import { addExamples } from './add-examples.ts';
import { addTroubles } from './add-troubles.ts';
import { describeOperations } from './describe.ts';
import type { Json } from './json.ts';
import { nameSchemas } from './named-schemas.ts';
import { liftStyles } from './openapi-styles.ts';
import { tags } from './tags.ts';
import { tidySchemas } from './tidy.ts';

const description = `Checks, locations, results and statuses.

Every request carries an API key: \`Authorization: Bearer <API key>\`. The header \`x-service-account\` may name the account;
the API key's account is the default, and any other is refused with 403. Browsers may sign in (\`POST /v1/sign-in\`) and
then send a cookie in place of the key.

An API key has a role: \`ADMIN\`, \`READ_WRITE\`, \`READ_RUN\` or \`READ_ONLY\`, each of which may do all that the ones after it
may do. \`x-role\` names the role that an operation needs; a key of a lesser role gets 403.

Every error is \`{statusCode, error, message, attributes}\`; \`attributes\` names each bad field by its dotted path. Unknown
fields are errors. A JSON body may be compressed: \`content-encoding: gzip\`. The limit of its size is that of the unpacked
body. A change (PUT) replaces the fields that it names and leaves the others as they are.

An answer with a list has the header \`content-range\`: which entries it holds, and how many there are.`;

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

/** Completes the document that was made from the routes: names, descriptions, examples. */
function complete(document: Json): void {
  liftStyles(document);
  tidySchemas(document);
  nameSchemas(document);
  addTroubles(document);
  describeOperations(document);
  addExamples(document);
}

/** Collects the routes' schemas into an OpenAPI 3.1 document. Register it before the routes. */
export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Monitoring Service API',
        version,
        description,
        contact: { name: 'Whoever runs this service' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'The service that serves this document' }],
      tags: [...tags],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' },
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
      complete(made as Json); // JSON, whatever version of the types it has
      return made;
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, index) =>
        typeof json['$id'] === 'string' ? json['$id'] : `schema${index}`,
    },
  });
}
