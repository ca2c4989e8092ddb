import { createHash, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Compile } from 'typebox/schema';
import { expect } from 'vitest';
import { buildApp } from '../../../src/service/app.ts';
import type { ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import type { Encryption } from '../../../src/service/engine/encryption.ts';
import type { WrongKeys } from '../../../src/service/http/wrong-keys.ts';
import type { AnswerLimits } from '../../../src/unread-answers.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { encryption as usualEncryption, silent } from './agent-service.ts';

/** The public API on a real port over a test's database, with two accounts, every answer checked against the OpenAPI document. */

/** `body` is parsed JSON, text, or null when there is none; a test says what it expects it to be. */
export type Answer<Body> = { status: number; body: Body; headers: Headers };

export type Fields = { [field: string]: unknown };

export type CallOptions = {
  /** JSON, or a string or bytes that are sent as they are. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Default: the first account's key; null = none. */
  key?: string | null;
};

export type TestAccount = { id: string; key: string };

export type TestService = {
  url: string;
  db: Db;
  encryption: Encryption;
  readonly account: TestAccount;
  /** Another account: it must see nothing of the first. */
  readonly foreign: TestAccount;
  /** Replaces both accounts with new ones, so that a test sees nothing that another test has made. */
  renewAccounts: () => Promise<void>;
  now: () => number;
  /** Prepared if the test requested it: `tick` does the work that is due. */
  background: Background;
  call: <Body = Fields>(method: string, path: string, options?: CallOptions) => Promise<Answer<Body>>;
  close: () => Promise<void>;
};

/** The parts of an OpenAPI document that the check needs. */
type Document = {
  components?: { schemas?: Fields };
  paths?: { [path: string]: { [method: string]: Operation } };
};
type Operation = {
  responses: {
    [status: string]: {
      content?: { [type: string]: { schema: object } };
      headers?: { [name: string]: { required?: boolean } };
    };
  };
};

async function createAccount(db: Db, name: string): Promise<TestAccount> {
  const id = uuidv7();
  const key = `key_${randomBytes(16).toString('hex')}`;
  await db.query('insert into accounts (id, name) values ($1, $2)', [id, name]);
  await db.query(
    'insert into api_keys (id, account_id, name, key_hash, masked_key) values ($1, $2, $3, $4, $5)',
    [uuidv7(), id, 'test', createHash('sha256').update(key).digest(), `...${key.slice(-4)}`],
  );
  return { id, key };
}

/** A schema that refuses fields which it does not describe, at every depth. */
function closed<S extends object>(schema: S): S {
  const close = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(close);
    if (typeof value !== 'object' || value === null) return value;
    const result: Fields = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, close(item)]));
    if (result['type'] === 'object' && 'properties' in result) result['additionalProperties'] ??= false;
    return result;
  };
  return close(schema) as S; // the same keywords, and one more
}

/**
 * Checks an answer against the document: the path and status are described, the required headers are there, and the body
 * has no field but those described.
 */
export function createAnswerCheck(document: Document) {
  const { paths: described = {} } = document;
  const components = { schemas: closed(document.components?.schemas ?? {}) };
  const compiled = new Map<string, ReturnType<typeof Compile>>();
  const paths = Object.keys(described).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
  }));
  // A path without parameters wins: /v1/accounts/me is no id.
  paths.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));

  return (method: string, url: string, { status, body, headers }: Answer<unknown>): void => {
    const pathname = url.split('?', 1)[0] ?? '';
    const path = paths.find(({ pattern }) => pattern.test(pathname))?.path;
    if (path === undefined) {
      expect(status, `${method} ${pathname} is not in the document`).toBe(404);
      return;
    }
    const operation = described[path]?.[method.toLowerCase()];
    if (operation === undefined) {
      // Of the method, or of a more general path.
      expect([404, 405]).toContain(status);
      return;
    }
    const response = operation.responses[String(status)];
    expect(response, `${method} ${path} does not describe ${status}`).toBeDefined();
    for (const [name, { required }] of Object.entries(response?.headers ?? {}))
      if (required === true)
        expect([method, path, status, name, headers.get(name)]).toEqual([
          method,
          path,
          status,
          name,
          expect.any(String),
        ]);
    const schema = response?.content?.['application/json']?.schema;
    if (schema === undefined) {
      // Something else than JSON, an image or a text, is looked at by its own tests.
      if (response?.content === undefined) expect(body).toBeNull();
      return;
    }
    const name = `${method} ${path} ${status}`;
    // Most answers share a schema with others, errors all of them: compiling takes longer than the request.
    const text = JSON.stringify(schema);
    let check = compiled.get(text);
    if (check === undefined) {
      check = Compile({ ...closed(schema), components });
      compiled.set(text, check);
    }
    const [, errors] = check.Errors(body);
    expect(errors, name).toEqual([]);
  };
}

/** The same for each service of this process: to make the document and to compile its schemas takes half a second. */
let answerCheck: ReturnType<typeof createAnswerCheck> | null = null;

/** Paths whose answers the document describes. Others are those of pages and agents. */
const described = /^\/(v[12]\b|health$|ping\/|(checks|check-groups)\/[^/]+\/trigger\/)/;

const asItIs = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array;

/** Starts the public API over `db`, whose migrations have run. `now` may be set for tests of time. */
export async function startTestService(
  db: Db,
  options: {
    now?: () => number;
    files?: ArtifactFiles;
    bundles?: ArtifactFiles;
    encryption?: Encryption;
    /** What a test gives is prepared by the test; default: one that takes nothing. */
    background?: Background;
    /** Requests of one API key in a minute; default any number. */
    rateLimit?: number;
    /** Limits wrong keys by address. Default: not limited. */
    wrongKeys?: WrongKeys;
    /** Default: none. */
    trustedProxies?: readonly string[];
    publicUrl?: string;
    answerLimits?: AnswerLimits;
  } = {},
): Promise<TestService> {
  const now = options.now ?? Date.now;
  const encryption = options.encryption ?? usualEncryption;
  const background = options.background ?? createBackground({ db, log: silent });
  const app = await buildApp(
    {
      db,
      background,
      encryption,
      now,
      wrongKeys: options.wrongKeys,
      ...(options.rateLimit === undefined ? {} : { rateLimit: options.rateLimit }),
      ...(options.files === undefined ? {} : { files: options.files }),
      ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
      ...(options.bundles === undefined ? {} : { bundles: options.bundles }),
    },
    {
      ...(options.trustedProxies === undefined ? {} : { trustedProxies: options.trustedProxies }),
      ...(options.answerLimits === undefined ? {} : { answerLimits: options.answerLimits }),
    },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`; // listening on TCP
  let account: TestAccount;
  let foreign: TestAccount;
  async function renewAccounts(): Promise<void> {
    account = await createAccount(db, 'First');
    foreign = await createAccount(db, 'Second');
  }
  await renewAccounts();
  const checkAnswer = (answerCheck ??= createAnswerCheck(
    JSON.parse(JSON.stringify(app.swagger())) as Document, // Fastify's type allows OpenAPI 2 too
  ));

  async function call<Body = Fields>(
    method: string,
    path: string,
    { body, headers, key }: CallOptions = {},
  ): Promise<Answer<Body>> {
    const usedKey = key === undefined ? account.key : key;
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(usedKey === null ? {} : { authorization: `Bearer ${usedKey}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: asItIs(body) ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const answer = (isJson ? JSON.parse(text) : text === '' ? null : text) as Body; // checked against the document
    const whole = { status: response.status, body: answer, headers: response.headers };
    if (described.test(path)) checkAnswer(method, path, whole);
    return whole;
  }

  return {
    url,
    db,
    encryption,
    get account() {
      return account;
    },
    get foreign() {
      return foreign;
    },
    renewAccounts,
    now,
    background,
    call,
    close: () => app.close(),
  };
}
