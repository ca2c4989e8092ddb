import type { Queryable } from '../db/database.ts';
import { countRows } from '../db/count-rows.ts';
import type { WantedResults } from '../db/filed-results.ts';

/** Statements on the files with results. */

export type ResultFile = {
  id: string;
  accountId: string;
  day: Date;
  rows: number;
  bytes: number;
  /** Of its footer, in hexadecimal (chunk-digests.ts). */
  footerDigest: string;
};

/** Where a file is in the store. Other programs find the files of an account and a day by it. */
export const pathOf = ({ id, accountId, day }: Pick<ResultFile, 'id' | 'accountId' | 'day'>): string =>
  `account=${accountId}/day=${day.toISOString().slice(0, 10)}/${id}.parquet`;

/** The id in a path, also of a file that is not complete yet; null = it is not the path of such a file. */
export const idOfPath = (path: string): string | null =>
  /\/([0-9a-f-]{36})\.parquet(?:\.part)?$/.exec(path)?.[1] ?? null;

/** The results of a check in a file: `rows` from `firstRow` on, newest first. */
export type Stretch = {
  checkId: string;
  newest: Date;
  oldest: Date;
  firstRow: number;
  rows: number;
  file: ResultFile;
};

type StretchRow = Omit<Stretch, 'file'> & Omit<Stretch['file'], 'rows'> & { fileRows: number };

const stretchColumns = `c.check_id as "checkId", c.newest, c.oldest, c.first_row as "firstRow", c.rows, f.id,
  f.account_id as "accountId", f.day, f.bytes, encode(f.footer_digest, 'hex') as "footerDigest", f.rows as "fileRows"`;

const stretchOf = ({ id, accountId, day, bytes, footerDigest, fileRows, ...own }: StretchRow): Stretch => ({
  ...own,
  file: { id, accountId, day, bytes, footerDigest, rows: fileRows },
});

/** The newest day of which there are files; null = there are none. */
export async function newestDay(db: Queryable): Promise<Date | null> {
  const [row] = await db.query<{ day: Date | null }>('select max(day) as day from result_files');
  return row?.day ?? null;
}

/** Where wanted results are in files, newest first. */
export async function findStretches(db: Queryable, { checkIds, spans }: WantedResults): Promise<Stretch[]> {
  if (checkIds.length === 0 || spans.length === 0) return [];
  const rows = await db.query<StretchRow>(
    `with spans as materialized (
       select coalesce(since, '-infinity') as since, coalesce(until, 'infinity') as until
       from unnest($2::timestamptz[], $3::timestamptz[]) as span (since, until)
     )
     select ${stretchColumns} from result_file_checks c join result_files f on f.id = c.file_id
     where c.check_id = any($1::uuid[]) and c.newest >= (select min(since) from spans)
       and c.oldest <= (select max(until) from spans)
       and exists (select 1 from spans where c.newest >= since and c.oldest <= until)
     order by c.newest desc, c.file_id`,
    [[...checkIds], spans.map(({ from }) => from), spans.map(({ to }) => to)],
  );
  return rows.map(stretchOf);
}

/** All stretches of a file, in its order. */
export async function stretchesOfFile(db: Queryable, fileId: string): Promise<Stretch[]> {
  const rows = await db.query<StretchRow>(
    `select ${stretchColumns} from result_file_checks c join result_files f on f.id = c.file_id
     where f.id = $1 order by c.first_row`,
    [fileId],
  );
  return rows.map(stretchOf);
}

export async function insertFile(
  tx: Queryable,
  file: ResultFile,
  stretches: readonly Omit<Stretch, 'file'>[],
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into result_files (id, account_id, day, rows, bytes, footer_digest, created_at)
     values ($1, $2, $3, $4, $5, decode($6, 'hex'), $7)`,
    [file.id, file.accountId, file.day, file.rows, file.bytes, file.footerDigest, now],
  );
  await tx.query(
    `insert into result_file_checks (file_id, check_id, newest, oldest, first_row, rows)
     select $1, * from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[])`,
    [
      file.id,
      stretches.map(({ checkId }) => checkId),
      stretches.map(({ newest }) => newest),
      stretches.map(({ oldest }) => oldest),
      stretches.map(({ firstRow }) => firstRow),
      stretches.map(({ rows }) => rows),
    ],
  );
}

/** Deletes the rows of a file. Returns false if another replica has deleted them. */
export async function deleteFile(tx: Queryable, id: string): Promise<boolean> {
  return (await tx.query('delete from result_files where id = $1 returning id', [id])).length > 0;
}

/** Notes that a file cannot be read, or that it can be read again. */
export async function noteReadable(
  db: Queryable,
  { id, unreadableSince }: { id: string; unreadableSince: Date | null },
): Promise<void> {
  await db.query(
    `update result_files set unreadable_since = case when $2::timestamptz is not null then coalesce(unreadable_since, $2) end
     where id = $1`,
    [id, unreadableSince],
  );
}

const fileColumns = `id, account_id as "accountId", day, rows, bytes, encode(footer_digest, 'hex') as "footerDigest"`;

/** Notes that an unreadable file was read again, without success. */
export async function noteTried(db: Queryable, { id, now }: { id: string; now: Date }): Promise<void> {
  await db.query('update result_files set tried_at = $2 where id = $1', [id, now]);
}

/**
 * Files that are noted as unreadable, at most `limit`: first those that were not read again for the longest time, of which
 * those of the last days.
 */
export async function unreadableFiles(db: Queryable, limit: number): Promise<ResultFile[]> {
  return db.query<ResultFile>(
    `select ${fileColumns} from result_files where unreadable_since is not null order by tried_at nulls first, day desc limit $1`,
    [limit],
  );
}

/** How many files an account has, by whether they are noted as unreadable. */
export async function countFiles(
  db: Queryable,
  accountId: string,
): Promise<{ readable: number; unreadable: number }> {
  const [row] = await db.query<{ readable: number; unreadable: number }>(
    `select (count(*) - count(unreadable_since))::float8 as readable, count(unreadable_since)::float8 as unreadable
     from result_files where account_id = $1`,
    [accountId],
  );
  return row ?? { readable: 0, unreadable: 0 };
}

/** Files after `after` in the order of their ids that were named before `before`; at most `limit`. */
export async function filesInOrder(
  db: Queryable,
  { after, before, limit }: { after: string; before: Date; limit: number },
): Promise<ResultFile[]> {
  return db.query<ResultFile>(
    `select ${fileColumns} from result_files where id > $1 and created_at < $2 order by id limit $3`,
    [after, before, limit],
  );
}

/** Files of days before `before`; at most `limit`. */
export async function oldFiles(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<ResultFile[]> {
  return db.query<ResultFile>(
    `select ${fileColumns} from result_files where day < $1 order by day limit $2`,
    [before, limit],
  );
}

/** Files with results of checks that do not exist any more, without those noted as unreadable; at most `limit`. */
export async function filesOfDeletedChecks(db: Queryable, limit: number): Promise<ResultFile[]> {
  return db.query<ResultFile>(
    `select ${fileColumns} from result_files where unreadable_since is null and id in (
       select c.file_id from result_file_checks c where not exists (select 1 from checks where checks.id = c.check_id))
     limit $1`,
    [limit],
  );
}

/** Those of these checks that exist. */
export async function existingChecks(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>('select id from checks where id = any($1::uuid[])', [[...ids]]);
  return new Set(rows.map(({ id }) => id));
}

/** Those of these ids that are files. `isReadable`: as far as it is noted. */
export async function knownFiles(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, { bytes: number; isReadable: boolean; createdAt: Date }>> {
  const rows = await db.query<{ id: string; bytes: number; isReadable: boolean; createdAt: Date }>(
    `select id, bytes, unreadable_since is null as "isReadable", created_at as "createdAt" from result_files
     where id = any($1::uuid[])`,
    [[...ids]],
  );
  return new Map(rows.map(({ id, ...file }) => [id, file]));
}

type Replaced = Pick<ResultFile, 'id' | 'accountId' | 'day'>;

/** Notes that another file has replaced this one. */
export async function noteReplaced(
  tx: Queryable,
  { id, accountId, day }: Replaced,
  now: Date,
): Promise<void> {
  await tx.query(
    'insert into replaced_result_files (id, account_id, day, replaced_at) values ($1, $2, $3, $4)',
    [id, accountId, day, now],
  );
}

/** Files that were replaced until `until`, or whose day is before `before`; at most `limit`. */
export async function replacedFiles(
  db: Queryable,
  { until, before, limit }: { until: Date; before: Date; limit: number },
): Promise<Replaced[]> {
  return db.query<Replaced>(
    `select id, account_id as "accountId", day from replaced_result_files
     where replaced_at <= $1 or day < $2 order by replaced_at limit $3`,
    [until, before, limit],
  );
}

export async function forgetReplaced(db: Queryable, id: string): Promise<void> {
  await db.query('delete from replaced_result_files where id = $1', [id]);
}

/** Whether a file has results, or was replaced a short time ago. */
export async function isNeeded(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query(
    `select 1 from result_files where id = $1 union all select 1 from replaced_result_files where id = $1`,
    [id],
  );
  return rows.length > 0;
}

/** How many files were named before `before` and are not noted as unreadable. */
export async function countReadable(db: Queryable, before: Date): Promise<number> {
  return countRows(db, 'from result_files where created_at < $1 and unreadable_since is null', [before]);
}
