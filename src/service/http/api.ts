import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RetentionConfig } from '../../config/retention.ts';
import type { ArtifactFiles } from '../artifacts/files.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';

/** A Fastify instance whose routes take their types from their schemas. */
export type PublicApi = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What the routes of the public API need. `now` is milliseconds since the epoch. */
export type ApiDeps = {
  db: Db;
  encryption: Encryption;
  now: () => number;
  /** Where routes put work that is done later. */
  background: Background;
  /** Files of runs; absent = there are none. */
  files?: ArtifactFiles;
  /** Code bundles of suites; absent = none can be had. */
  bundles?: ArtifactFiles;
  /** How long things are kept; absent = the defaults. */
  retention?: RetentionConfig;
  /** Requests of one API key in a minute; 0 or absent = any number. */
  rateLimit?: number;
  /** Of status pages; absent = every request reads anew, and any number of them. */
  publicPages?: { perMinute: number; cacheMs: number };
  /** Base of the URLs in answers; null or absent = what the client has asked. */
  publicUrl?: string | null;
  /** Whether mail can leave; absent = it can. */
  canMail?: boolean;
};
