import { resolve } from 'node:path';
import type { Secret } from '../secrets/secret.ts';
import { readAnalysisConfig, type AnalysisConfig } from './analysis.ts';
import { withMaskedMessages } from './masked-messages.ts';
import { readNotificationConfig, type NotificationConfig } from './notifications.ts';
import { readPublicPages, type PublicPagesConfig } from './public-pages.ts';
import { readResultFiles, type ResultFilesConfig } from './result-files.ts';
import { readRetention, type RetentionConfig } from './retention.ts';
import { readStorage, type BucketConfig } from './storage.ts';
import { fail, flag, integer, secret, text, url, type Environment } from './read.ts';

/** The variables of the monitoring service. Some subjects have their own files next to this one. */

export type ServiceConfig = {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | null;
  /** Image in the commands that start agents; null = that of this version, without a registry. */
  readonly agentImage: string | null;
  /** null = embedded in dataDir. */
  readonly databaseUrl: Secret | null;
  readonly dataDir: string;
  /** null = generated into keys.json (embedded database only). */
  readonly encryptionKey: Secret | null;
  readonly accountId: string | null;
  readonly apiKey: Secret | null;
  readonly locationSlug: string | null;
  readonly locationKey: Secret | null;
  /** Requests per API key and minute, per replica; 0 = unlimited. */
  readonly rateLimit: number;
  /** Agents may hold checks and keep their schedule themselves; null = they may, an hour after an upgrade at the latest. */
  readonly assignments: boolean | null;
  readonly publicPages: PublicPagesConfig;
  readonly notifications: NotificationConfig;
  readonly retention: RetentionConfig;
  readonly resultFiles: ResultFilesConfig;
  /** Where artifacts and bundles are stored; null = in folders below dataDir. */
  readonly bucket: BucketConfig | null;
  readonly analysis: AnalysisConfig;
};

/** A repository with its registry, and a tag or digest. It is shown in commands, so it has no other characters. */
function readAgentImage(env: Environment): string | null {
  const image = text(env, 'SERVICE_AGENT_IMAGE');
  if (image !== null && !/^[a-z0-9][\w./:@-]{0,511}$/i.test(image)) {
    fail(`SERVICE_AGENT_IMAGE must be the name of an image, but is "${image}"`);
  }
  return image;
}

/** The variables of `service` and `dev`. Throws FatalError (78). */
export function readServiceConfig(env: Environment): ServiceConfig {
  return withMaskedMessages(env, () => serviceConfig(env));
}

function serviceConfig(env: Environment): ServiceConfig {
  const databaseUrl = secret(env, 'DATABASE_URL');
  if (databaseUrl !== null) {
    url({ DATABASE_URL: databaseUrl.reveal() }, 'DATABASE_URL', '', ['postgres:', 'postgresql:']);
  }
  const encryptionKey = secret(env, 'SERVICE_ENCRYPTION_KEY');
  if (databaseUrl !== null && encryptionKey === null) {
    fail('SERVICE_ENCRYPTION_KEY (or _FILE) is required with DATABASE_URL: all replicas need the same one');
  }
  if (encryptionKey !== null && encryptionKey.reveal().length < 16) {
    fail(
      'SERVICE_ENCRYPTION_KEY must have at least 16 characters; generate one with `openssl rand -base64 32`',
    );
  }
  const publicUrl = text(env, 'SERVICE_PUBLIC_URL');
  if (publicUrl !== null) url(env, 'SERVICE_PUBLIC_URL', '', ['http:', 'https:']);
  const accountId = text(env, 'SERVICE_ACCOUNT_ID');
  if (accountId !== null && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(accountId)) {
    fail(`SERVICE_ACCOUNT_ID must be a lower-case UUID, but is "${accountId}"`);
  }
  const locationSlug = text(env, 'SERVICE_LOCATION_SLUG');
  if (locationSlug !== null && !/^[A-Za-z0-9-]{1,30}$/.test(locationSlug)) {
    fail(`SERVICE_LOCATION_SLUG must have 1 to 30 letters, digits or hyphens, but is "${locationSlug}"`);
  }
  const locationKey = secret(env, 'SERVICE_LOCATION_KEY');
  if (locationKey !== null && !/^pl_[\x21-\x7e]{8,200}$/.test(locationKey.reveal())) {
    fail('SERVICE_LOCATION_KEY must begin with pl_');
  }
  const apiKey = secret(env, 'SERVICE_API_KEY');
  if (apiKey !== null && !/^[\x21-\x7e]{8,200}$/.test(apiKey.reveal())) {
    fail('SERVICE_API_KEY must have 8 to 200 letters, digits and punctuation marks, without spaces');
  }
  const bucket = readStorage(env);
  return Object.freeze({
    host: text(env, 'SERVICE_HOST') ?? '127.0.0.1',
    port: integer(env, 'SERVICE_PORT', 4400, 0, 65_535),
    agentImage: readAgentImage(env),
    publicUrl: publicUrl?.replace(/\/+$/, '') ?? null,
    databaseUrl,
    dataDir: resolve(text(env, 'SERVICE_DATA_DIR') ?? '.data'),
    encryptionKey,
    accountId,
    apiKey,
    locationSlug,
    locationKey,
    rateLimit: integer(env, 'SERVICE_RATE_LIMIT', 600, 0, 1_000_000),
    assignments: flag(env, 'SERVICE_ASSIGNMENTS', null),
    publicPages: readPublicPages(env),
    notifications: readNotificationConfig(env),
    retention: readRetention(env),
    resultFiles: readResultFiles(env, { isEmbedded: databaseUrl === null }),
    bucket,
    analysis: readAnalysisConfig(env),
  });
}
