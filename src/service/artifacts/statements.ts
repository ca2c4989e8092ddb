import type { Queryable } from '../db/database.ts';

/**
 * Statements on artifacts. A file is identified by job, attempt, lease and name, so a result and its files always
 * belong together.
 */

export type ArtifactState = 'pending' | 'stored' | 'refused' | 'lost';

export type ArtifactKey = { jobId: string; attempt: number; leaseToken: string; name: string };

export type ArtifactRow = ArtifactKey & {
  id: string;
  type: string;
  contentType: string;
  size: number;
  sha256: Buffer;
  state: ArtifactState;
};

const columns = `id, job_id as "jobId", attempt, lease_token as "leaseToken", name, type,
  content_type as "contentType", size, sha256, state`;
const isKey = 'job_id = $1 and attempt = $2 and lease_token = $3 and name = $4';

/**
 * Whether a lease of this account's job may upload files of an attempt. While the run is in progress any lease may;
 * afterwards only a lease whose result of that attempt is stored.
 */
export async function mayUploadFiles(
  db: Queryable,
  lease: { accountId: string; jobId: string; attempt: number; leaseToken: string },
): Promise<boolean> {
  const rows = await db.query(
    `select 1 from jobs
     where id = $1 and account_id = $2 and (lease_token = $3::uuid or $3::uuid = any(past_tokens))
     union all
     select 1 from finished_jobs f join locations l on l.id = f.location_id
     where f.job_id = $1 and l.account_id = $2 and $4 = any(f.reported)
     limit 1`,
    [lease.jobId, lease.accountId, lease.leaseToken, `${lease.attempt}:${lease.leaseToken}`],
  );
  return rows.length > 0;
}

/**
 * Whether the result of such an attempt may still come: the lease is that of an agent that holds or held checks, which
 * makes its runs itself, and nothing is known of this one yet.
 */
export async function mayBecomeKnown(
  db: Queryable,
  lease: { accountId: string; jobId: string; leaseToken: string },
): Promise<boolean> {
  const rows = await db.query(
    `select 1 from kept_checks where agent_id = $1 and account_id = $2
       and not exists (select 1 from jobs where id = $3) and not exists (select 1 from finished_jobs where job_id = $3)
     limit 1`,
    [lease.leaseToken, lease.accountId, lease.jobId],
  );
  return rows.length > 0;
}

/** Records a file that will be uploaded. Returns the resulting row, which may be an older one. */
export async function announceArtifact(
  db: Queryable,
  artifact: ArtifactRow & { accountId: string; now: Date },
): Promise<ArtifactRow> {
  await db.query(
    `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state,
       created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     on conflict (job_id, attempt, lease_token, name) do nothing`,
    [
      artifact.id,
      artifact.accountId,
      artifact.jobId,
      artifact.attempt,
      artifact.leaseToken,
      artifact.name,
      artifact.type,
      artifact.contentType,
      artifact.size,
      artifact.sha256,
      artifact.state,
      artifact.now,
    ],
  );
  return (await findArtifact(db, artifact)) ?? artifact;
}

/** The file with this key, stored or not. */
export async function findArtifact(db: Queryable, key: ArtifactKey): Promise<ArtifactRow | undefined> {
  const rows = await db.query<ArtifactRow>(`select ${columns} from artifacts where ${isKey}`, [
    key.jobId,
    key.attempt,
    key.leaseToken,
    key.name,
  ]);
  return rows[0];
}

/** Counts the files of one attempt and lease, and their bytes. */
export async function artifactsOfAttempt(
  db: Queryable,
  { jobId, attempt, leaseToken }: Omit<ArtifactKey, 'name'>,
): Promise<{ count: number; bytes: number }> {
  const rows = await db.query<{ count: number; bytes: number }>(
    `select count(*) as count, coalesce(sum(size), 0) as bytes from artifacts
     where job_id = $1 and attempt = $2 and lease_token = $3`,
    [jobId, attempt, leaseToken],
  );
  return rows[0] ?? { count: 0, bytes: 0 };
}

/** Replaces the announcement of a file that is not stored yet, because its agent restarts with other bytes. */
export async function reannounceArtifact(
  db: Queryable,
  { id, size, sha256, contentType, type }: Omit<ArtifactRow, keyof ArtifactKey | 'state'>,
): Promise<void> {
  await db.query(
    `update artifacts set size = $2, sha256 = $3, content_type = $4, type = $5, state = 'pending'
     where id = $1 and state <> 'stored'`,
    [id, size, sha256, contentType, type],
  );
}

/** Sets the final state of a file. A stored file does not change. */
export async function settleArtifact(
  db: Queryable,
  { id, state, now }: { id: string; state: ArtifactState; now: Date },
): Promise<void> {
  await db.query(
    `update artifacts set state = $2, stored_at = case when $2 = 'stored' then $3::timestamptz end
     where id = $1 and state <> 'stored'`,
    [id, state, now],
  );
}

export type AttemptKey = { jobId: string; attempt: number; leaseToken: string };

/** The files of these attempts of an account. */
export async function artifactsOf(
  db: Queryable,
  { accountId, attempts }: { accountId: string; attempts: readonly AttemptKey[] },
): Promise<ArtifactRow[]> {
  if (attempts.length === 0) return [];
  return db.query<ArtifactRow>(
    `select ${columns} from artifacts
     where account_id = $1 and (job_id, attempt, lease_token) in (
       select * from unnest($2::uuid[], $3::integer[], $4::uuid[]))
     order by name`,
    [
      accountId,
      attempts.map(({ jobId }) => jobId),
      attempts.map(({ attempt }) => attempt),
      attempts.map(({ leaseToken }) => leaseToken),
    ],
  );
}

/** Ids of files announced before a given time, oldest first. */
export async function oldArtifacts(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'select id from artifacts where created_at < $1 order by created_at limit $2',
    [before, limit],
  );
  return rows.map(({ id }) => id);
}

/** Ids of incomplete files announced before a given time. */
export async function unfinishedArtifacts(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from artifacts where state = 'pending' and created_at < $1 order by created_at limit $2`,
    [before, limit],
  );
  return rows.map(({ id }) => id);
}

/** Deletes the rows of files; their bytes are deleted separately. */
export async function forgetArtifacts(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('delete from artifacts where id = any($1::uuid[])', [ids]);
}
