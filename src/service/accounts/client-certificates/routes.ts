import Type from 'typebox';
import { Nullable } from '../../../protocol/schema.ts';
import { certificateFacts, certificateProblems, type CertificateParts } from './rules.ts';
import {
  deleteClientCertificate,
  findClientCertificate,
  insertClientCertificate,
  listClientCertificates,
  lockClientCertificateTotals,
  updateClientCertificate,
  type ClientCertificateRow,
} from './statements.ts';
import { countOfAccount } from '../../db/count-rows.ts';
import type { Db, Queryable } from '../../db/database.ts';
import type { Encryption } from '../../engine/encryption.ts';
import { badRequest, notFound } from '../../http/errors.ts';
import { uuidv7 } from '../../engine/ids.ts';
import { open, strict, strictPartial } from '../../http/fields/strict-schema.ts';
import { errorResponses } from '../../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../../http/fields/pagination.ts';
import { IdParams, isUuid } from '../../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../../http/api.ts';
import { dateTime } from '../../http/fields/dates.ts';
import { ignored } from '../../http/fields/ignored-fields.ts';

/**
 * Client certificates (mTLS) for API checks, chosen by host: an exact name wins over a pattern, and the newest wins
 * among equals.
 */

/** Limits per account. A check whose host comes from a template gets all certificates. */
export const certificateLimits = { count: 100, length: 1024 * 1024 };

const host = Type.String({
  maxLength: 253,
  pattern: '^[A-Za-z0-9*?._-]+(:[0-9]{1,5})?$',
  description:
    'the name of a host, with ":port" if it is for that port alone; "*" stands for any characters and "?" for one',
});
const cert = Type.String({
  minLength: 1,
  maxLength: 65_536,
  description: 'The certificate, and its chain, as PEM.',
});
const ca = Nullable(
  Type.String({
    maxLength: 262_144,
    description: 'Authorities that are trusted beside the usual ones, as PEM.',
  }),
  { default: null },
);
const writable = {
  host,
  cert,
  key: Type.String({ maxLength: 65_536, description: 'Its private key, as PEM. Never returned.' }),
  ca,
  passphrase: Nullable(
    Type.String({ maxLength: 1024, description: 'Of an encrypted key. Never returned.' }),
    {
      default: null,
    },
  ),
};

export const ClientCertificateSchema = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      host,
      cert,
      ca,
      hasPassphrase: Type.Boolean(),
      subject: Type.String(),
      issuer: Type.String(),
      fingerprint: Type.String({ description: 'SHA-256 of the certificate.' }),
      notBefore: dateTime,
      expiresAt: dateTime,
      created_at: dateTime,
      updated_at: Nullable(dateTime),
    },
    { $id: 'ClientCertificate', title: 'ClientCertificate' },
  ),
);

const CreateBody = strict(Type.Object(writable));
const ChangeBody = strictPartial(
  Type.Object({
    ...writable,
    id: ignored,
    hasPassphrase: ignored,
    subject: ignored,
    issuer: ignored,
    fingerprint: ignored,
    notBefore: ignored,
    expiresAt: ignored,
    created_at: ignored,
    updated_at: ignored,
  }),
);

const present = (row: ClientCertificateRow) => ({
  id: row.id,
  host: row.host,
  cert: row.cert,
  ca: row.ca,
  hasPassphrase: row.passphrase !== null,
  ...certificateFacts(row.cert),
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt?.toISOString() ?? null,
});

async function checkTotals(
  tx: Db,
  { accountId, without, parts }: { accountId: string; without: string | null; parts: CertificateParts },
): Promise<void> {
  const { count, length } = await lockClientCertificateTotals(tx, { accountId, without });
  const { count: max, length: maxLength } = certificateLimits;
  if (count >= max) throw badRequest({ host: [`an account has at most ${max} client certificates`] });
  if (length + parts.cert.length + parts.key.length + (parts.ca?.length ?? 0) > maxLength) {
    throw badRequest({
      cert: [`all client certificates of an account have at most ${maxLength} characters together`],
    });
  }
}

const tags = ['Client certificates'];
const path = '/v1/client-certificates';

const sealed = (encryption: Encryption, { key, passphrase, ...parts }: CertificateParts) => ({
  ...parts,
  key: encryption.seal(key),
  passphrase: passphrase === null ? null : encryption.seal(passphrase),
});

async function find(db: Queryable, accountId: string, id: string): Promise<ClientCertificateRow> {
  const row = isUuid(id) ? await findClientCertificate(db, { accountId, id }) : undefined;
  if (row === undefined) throw notFound('client certificate', id);
  return row;
}

/** Registers the routes of client certificates. */
export function registerClientCertificates(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    path,
    {
      schema: {
        operationId: 'listClientCertificates',
        tags,
        summary: 'Client certificates, oldest first; without their keys',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('ClientCertificate')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'client_certificates', accountId) },
    },
    async ({ accountId, query }) =>
      (await listClientCertificates(db, { accountId, limit: query.limit, offset: offsetOf(query) })).map(
        present,
      ),
  );
}

function registerCreate(api: PublicApi, { db, now, encryption }: ApiDeps): void {
  api.post(
    path,
    {
      schema: {
        operationId: 'createClientCertificate',
        tags,
        summary: 'Add a client certificate that API checks offer to a host',
        body: CreateBody,
        response: { 201: Type.Ref('ClientCertificate'), ...errorResponses(400, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const { host: name, ...parts } = body;
      const problems = certificateProblems(parts);
      if (problems !== null) throw badRequest(problems);
      const time = now();
      const id = uuidv7(time);
      const created = await db.tx(async (tx) => {
        await checkTotals(tx, { accountId, without: null, parts });
        const row = { id, host: name.toLowerCase(), ...sealed(encryption, parts), createdAt: new Date(time) };
        await insertClientCertificate(tx, { accountId, row });
        return find(tx, accountId, id);
      });
      return reply.code(201).send(present(created));
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    `${path}/:id`,
    {
      schema: {
        operationId: 'getClientCertificate',
        tags,
        summary: 'One client certificate, without its key',
        params: IdParams,
        response: { 200: Type.Ref('ClientCertificate'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => present(await find(db, accountId, params.id)),
  );
}

function registerChange(api: PublicApi, { db, now, encryption }: ApiDeps): void {
  api.put(
    `${path}/:id`,
    {
      schema: {
        operationId: 'updateClientCertificate',
        tags,
        summary: 'Change a client certificate: fields that are left out stay as they are',
        description: 'A new certificate comes with its key, and the passphrase of an encrypted one.',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('ClientCertificate'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params, body }) =>
      db.tx(async (tx) => {
        const row = await find(tx, accountId, params.id);
        const stored = row.passphrase === null ? null : encryption.open(row.passphrase);
        const parts = {
          cert: body.cert ?? row.cert,
          key: body.key ?? encryption.open(row.key),
          ca: body.ca === undefined ? row.ca : body.ca,
          // The new key must not inherit the old key's passphrase.
          passphrase:
            body.passphrase === undefined ? (body.key === undefined ? stored : null) : body.passphrase,
        };
        const problems = certificateProblems(parts);
        if (problems !== null) throw badRequest(problems);
        await checkTotals(tx, { accountId, without: row.id, parts });
        const changed = {
          id: row.id,
          host: body.host?.toLowerCase() ?? row.host,
          ...sealed(encryption, parts),
          updatedAt: new Date(now()),
        };
        await updateClientCertificate(tx, { accountId, row: changed });
        return present(await find(tx, accountId, row.id));
      }),
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    `${path}/:id`,
    {
      schema: {
        operationId: 'deleteClientCertificate',
        tags,
        summary: 'Delete a client certificate',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const deleted = isUuid(id) && (await deleteClientCertificate(db, { accountId, id }));
      if (!deleted) throw notFound('client certificate', id);
      return reply.code(204).send(null);
    },
  );
}
