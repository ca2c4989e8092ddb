import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RetentionConfig } from '../../config/retention.ts';
import type { ArtifactFiles } from '../artifacts/files.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import type { WrongKeys } from './wrong-keys.ts';
import type { Encryption } from '../engine/encryption.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body of a PUT is the whole resource: fields that it leaves out get their defaults. Only deployments set it. */
    replaces: boolean;
  }
}

/** A Fastify instance whose routes take their types from their schemas. */
export type PublicApi = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Dependencies of the public API routes. `now` is milliseconds since the epoch. */
export type ApiDeps = {
  db: Db;
  encryption: Encryption;
  now: () => number;
  /** Queues for work that is done later. */
  background: Background;
  /** Storage of run files; absent = none. */
  files?: ArtifactFiles;
  /** Storage of code bundles; absent = no bundles. */
  bundles?: ArtifactFiles;
  /** Retention times; absent = the defaults. */
  retention?: RetentionConfig;
  /** Requests per minute of one API key; 0 or absent = no limit. */
  rateLimit?: number;
  /** Limit of wrong keys by address; absent = no limit. */
  wrongKeys?: WrongKeys | undefined;
  /** Limit and cache of status pages; absent = no limit and no cache. */
  publicPages?: { perMinute: number; cacheMs: number };
  /** Base URL in answers; null or absent = the one that the client used. */
  publicUrl?: string | null;
  /** Image in the commands that start agents; null or absent = that of this version. */
  agentImage?: string | null;
  /** Whether the service can send mail; absent = yes. */
  canMail?: boolean;
};
