import { type IncidentKind, updateTables } from '../incidents/update-statements.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on subscribers of status pages. */

export type SubscriberRow = {
  id: string;
  pageId: string;
  email: string;
  /** Encrypted. */
  token: string;
  askedAt: Date;
  confirmedAt: Date | null;
  createdAt: Date;
};

const columns = `s.id, s.page_id as "pageId", s.email, s.token, s.asked_at as "askedAt", s.confirmed_at as "confirmedAt",
  s.created_at as "createdAt"`;

/** Inserts a subscriber; false when the address is already subscribed. */
export async function insertSubscriber(
  tx: Queryable,
  subscriber: Pick<SubscriberRow, 'id' | 'pageId' | 'email' | 'token'> & { tokenHash: Buffer; now: Date },
): Promise<boolean> {
  const rows = await tx.query(
    `insert into status_page_subscribers (id, page_id, email, token, token_hash, asked_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $6) on conflict (page_id, email) do nothing returning id`,
    [
      subscriber.id,
      subscriber.pageId,
      subscriber.email,
      subscriber.token,
      subscriber.tokenHash,
      subscriber.now,
    ],
  );
  return rows.length > 0;
}

/**
 * Returns true when an unconfirmed address should get another confirmation mail, because the last one was before
 * `before`.
 */
export async function takeSecondAsking(
  tx: Queryable,
  { pageId, email, before, now }: { pageId: string; email: string; before: Date; now: Date },
): Promise<string | null> {
  const rows = await tx.query<{ id: string }>(
    `update status_page_subscribers set asked_at = $4
     where page_id = $1 and email = $2 and confirmed_at is null and asked_at < $3 returning id`,
    [pageId, email, before, now],
  );
  return rows[0]?.id ?? null;
}

/** Deletes subscribers that were never confirmed. */
export async function deleteUnconfirmed(
  tx: Queryable,
  { pageId, before }: { pageId: string; before: Date },
): Promise<void> {
  await tx.query(
    'delete from status_page_subscribers where page_id = $1 and confirmed_at is null and asked_at < $2',
    [pageId, before],
  );
}

/** Counts a page's subscribers and locks the count until the transaction ends. */
export async function lockSubscriberCount(tx: Queryable, pageId: string): Promise<number> {
  await tx.query('select 1 from status_pages where id = $1 for no key update', [pageId]);
  const rows = await tx.query<{ count: number }>(
    'select count(*)::integer as count from status_page_subscribers where page_id = $1',
    [pageId],
  );
  return rows[0]?.count ?? 0;
}

/** A subscriber with the page's name and URL. */
export type SubscriberOfPage = SubscriberRow & { pageUrl: string; pageName: string };

const withPage = `select ${columns}, p.url as "pageUrl", p.name as "pageName"
  from status_page_subscribers s join status_pages p on p.id = s.page_id`;

export async function findSubscriberById(db: Queryable, id: string): Promise<SubscriberOfPage | undefined> {
  const rows = await db.query<SubscriberOfPage>(`${withPage} where s.id = $1`, [id]);
  return rows[0];
}

export async function findSubscriberByToken(
  db: Queryable,
  { pageUrl, tokenHash }: { pageUrl: string; tokenHash: Buffer },
): Promise<SubscriberOfPage | undefined> {
  const rows = await db.query<SubscriberOfPage>(`${withPage} where s.token_hash = $1 and p.url = $2`, [
    tokenHash,
    pageUrl,
  ]);
  return rows[0];
}

export async function confirmSubscriber(
  tx: Queryable,
  { id, now }: { id: string; now: Date },
): Promise<void> {
  await tx.query(
    'update status_page_subscribers set confirmed_at = $2 where id = $1 and confirmed_at is null',
    [id, now],
  );
}

type Named = { pageId: string; id: string };

/** Returns true when there was such a subscriber. */
export async function deleteSubscriber(db: Queryable, { pageId, id }: Named): Promise<boolean> {
  const rows = await db.query(
    'delete from status_page_subscribers where page_id = $1 and id = $2 returning id',
    [pageId, id],
  );
  return rows.length > 0;
}

export async function findSubscriber(
  db: Queryable,
  { pageId, id, email = null }: { pageId: string; id: string | null; email?: string | null },
): Promise<SubscriberRow | undefined> {
  const rows = await db.query<SubscriberRow>(
    `select ${columns} from status_page_subscribers s
     where s.page_id = $1 and (s.id = $2::uuid or s.email = $3)`,
    [pageId, id, email],
  );
  return rows[0];
}

/** Reads a page of subscribers, oldest first; `after` is the last one of the previous page. */
export async function listSubscribers(
  db: Queryable,
  { pageId, after, limit }: { pageId: string; after: string | null; limit: number },
): Promise<SubscriberRow[]> {
  return db.query<SubscriberRow>(
    `select ${columns} from status_page_subscribers s
     where s.page_id = $1 and ($2::uuid is null or s.id > $2) order by s.id limit $3`,
    [pageId, after, limit],
  );
}

/** Reads the confirmed subscribers of these pages. */
export async function confirmedSubscribers(db: Queryable, pageIds: readonly string[]): Promise<string[]> {
  if (pageIds.length === 0) return [];
  const rows = await db.query<{ id: string }>(
    `select id from status_page_subscribers
     where page_id = any($1::uuid[]) and confirmed_at is not null order by id`,
    [[...pageIds]],
  );
  return rows.map(({ id }) => id);
}

/** The account's status pages that show a maintenance: the pages that it names, or all. */
export async function pagesOfMaintenance(
  db: Queryable,
  { accountId, statusPageIds }: { accountId: string; statusPageIds: readonly string[] },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from status_pages where account_id = $1 and ($2::boolean or id::text = any($3::text[]))`,
    [accountId, statusPageIds.length === 0, [...statusPageIds]],
  );
  return rows.map(({ id }) => id);
}

export type SubscriberUpdate = {
  incidentId: string;
  name: string;
  severity: string;
  status: string;
  description: string;
  createdAt: Date;
  /** Pages that show the incident. */
  pageIds: string[];
};

const pagesOf: { readonly [K in IncidentKind]: string } = {
  'status-page': `array(select distinct c.page_id from status_page_incident_services l
    join status_page_card_services s on s.service_id = l.service_id
    join status_page_cards c on c.id = s.card_id where l.incident_id = i.id)`,
  dashboard: 'array[i.dashboard_id]',
};
const incidentTables = { 'status-page': 'status_page_incidents', dashboard: 'incidents' } as const;

/** Reads an update with its incident, for a mail to subscribers. */
export async function findSubscriberUpdate(
  db: Queryable,
  kind: IncidentKind,
  id: string,
): Promise<SubscriberUpdate | undefined> {
  const rows = await db.query<SubscriberUpdate>(
    `select i.id as "incidentId", i.name, i.severity, u.status, u.description, u.created_at as "createdAt",
       ${pagesOf[kind]} as "pageIds"
     from ${updateTables[kind]} u join ${incidentTables[kind]} i on i.id = u.incident_id where u.id = $1`,
    [id],
  );
  return rows[0];
}
