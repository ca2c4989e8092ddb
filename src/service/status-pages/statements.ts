import type { Queryable } from '../db/database.ts';

/** Statements on status pages and their cards. */

export const themes = ['AUTO', 'LIGHT', 'DARK'] as const;
export type Theme = (typeof themes)[number];

/** Colours of one theme (`#rrggbb`); null = the default. */
export type ThemeColors = {
  accent: string | null;
  background: string | null;
  card: string | null;
  text: string | null;
};

export type PageColors = { light: ThemeColors; dark: ThemeColors };

export type StatusPageWrite = {
  name: string;
  url: string;
  customDomain: string | null;
  description: string | null;
  defaultTheme: Theme;
  logo: string | null;
  favicon: string | null;
  redirectTo: string | null;
  isPrivate: boolean;
  /** Shown in place of the name. */
  title: string | null;
  colors: PageColors | null;
};

export type StatusPageRow = StatusPageWrite & {
  id: string;
  accountId: string;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, account_id as "accountId", name, url, custom_domain as "customDomain", description,
  default_theme as "defaultTheme", logo, favicon, redirect_to as "redirectTo", is_private as "isPrivate", title, colors,
  created_at as "createdAt", updated_at as "updatedAt"`;

const valuesOf = (page: StatusPageWrite) => [
  page.name,
  page.url,
  page.customDomain,
  page.description,
  page.defaultTheme,
  page.logo,
  page.favicon,
  page.redirectTo,
  page.isPrivate,
  page.title,
  page.colors === null ? null : JSON.stringify(page.colors),
];

export async function insertStatusPage(
  tx: Queryable,
  { id, accountId, page, now }: { id: string; accountId: string; page: StatusPageWrite; now: Date },
): Promise<void> {
  await tx.query(
    `insert into status_pages (name, url, custom_domain, description, default_theme, logo, favicon, redirect_to,
       is_private, title, colors, id, account_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::jsonb, $12, $13, $14)`,
    [...valuesOf(page), id, accountId, now],
  );
}

export async function updateStatusPage(
  tx: Queryable,
  { id, page, now }: { id: string; page: StatusPageWrite; now: Date },
): Promise<void> {
  await tx.query(
    `update status_pages set name = $1, url = $2, custom_domain = $3, description = $4, default_theme = $5, logo = $6,
       favicon = $7, redirect_to = $8, is_private = $9, title = $10, colors = $11::jsonb, updated_at = $13 where id = $12`,
    [...valuesOf(page), id, now],
  );
}

/** Which of the two names another page uses, in any account. */
export async function takenNames(
  tx: Queryable,
  { id, url, customDomain }: { id: string; url: string; customDomain: string | null },
): Promise<{ url: boolean; customDomain: boolean }> {
  const rows = await tx.query<{ url: string; customDomain: string | null }>(
    `select url, custom_domain as "customDomain" from status_pages
     where (url = $2 or custom_domain = $3) and id <> $1`,
    [id, url, customDomain],
  );
  return {
    url: rows.some((row) => row.url === url),
    customDomain: customDomain !== null && rows.some((row) => row.customDomain === customDomain),
  };
}

type Named = { accountId: string; id: string };

export async function findStatusPage(
  db: Queryable,
  { accountId, id }: Named,
): Promise<StatusPageRow | undefined> {
  const rows = await db.query<StatusPageRow>(
    `select ${columns} from status_pages where id = $1 and account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/** Like findStatusPage, but locks the page and its cards until the transaction ends. */
export async function lockStatusPage(
  tx: Queryable,
  { accountId, id }: Named,
): Promise<StatusPageRow | undefined> {
  const rows = await tx.query<StatusPageRow>(
    `select ${columns} from status_pages where id = $1 and account_id = $2 for no key update`,
    [id, accountId],
  );
  return rows[0];
}

/** Whether the page exists. Locks it against deletion until `tx` ends. */
export async function shareLockStatusPage(tx: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await tx.query('select id from status_pages where id = $1 and account_id = $2 for key share', [
    id,
    accountId,
  ]);
  return rows.length > 0;
}

/** Of whatever account. */
/** Those of these ids that are status pages of the account, locked against deletion until the transaction ends. */
export async function shareLockStatusPages(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: string }>(
    'select id from status_pages where account_id = $1 and id = any($2::uuid[]) order by id for key share',
    [accountId, [...ids]],
  );
  return rows.map(({ id }) => id);
}

export async function findStatusPageByUrl(db: Queryable, url: string): Promise<StatusPageRow | undefined> {
  const rows = await db.query<StatusPageRow>(`select ${columns} from status_pages where url = $1`, [url]);
  return rows[0];
}

export async function findStatusPageByDomain(
  db: Queryable,
  customDomain: string,
): Promise<StatusPageRow | undefined> {
  const rows = await db.query<StatusPageRow>(`select ${columns} from status_pages where custom_domain = $1`, [
    customDomain,
  ]);
  return rows[0];
}

/** A page of status pages, oldest first; `after` is the last one of the previous page. */
export async function listStatusPages(
  db: Queryable,
  { accountId, after, limit }: { accountId: string; after: string | null; limit: number },
): Promise<StatusPageRow[]> {
  return db.query<StatusPageRow>(
    `select ${columns} from status_pages
     where account_id = $1 and ($2::uuid is null or id > $2) order by id limit $3`,
    [accountId, after, limit],
  );
}

/** Counts an account's status pages. Locks the count, so that concurrent callers wait. */
export async function lockStatusPageCount(tx: Queryable, accountId: string): Promise<number> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number }>(
    'select count(*)::integer as count from status_pages where account_id = $1',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/** Returns false if there was no such page. */
export async function deleteStatusPage(db: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await db.query('delete from status_pages where id = $1 and account_id = $2 returning id', [
    id,
    accountId,
  ]);
  return rows.length > 0;
}

/** Replaces the cards of a page. The services must belong to the account. */
export async function setCards(
  tx: Queryable,
  options: { pageId: string; cards: readonly { id: string; name: string; serviceIds: readonly string[] }[] },
): Promise<void> {
  const { pageId, cards } = options;
  await tx.query('delete from status_page_cards where page_id = $1', [pageId]);
  await tx.query(
    `insert into status_page_cards (id, page_id, position, name)
     select c.id, $1, c.position, c.name from unnest($2::uuid[], $3::text[]) with ordinality as c (id, name, position)`,
    [pageId, cards.map(({ id }) => id), cards.map(({ name }) => name)],
  );
  const services = cards.flatMap(({ id, serviceIds }) => serviceIds.map((serviceId) => ({ id, serviceId })));
  await tx.query(
    `insert into status_page_card_services (card_id, service_id, position)
     select s.card, s.service, s.position
     from unnest($1::uuid[], $2::uuid[]) with ordinality as s (card, service, position)`,
    [services.map(({ id }) => id), services.map(({ serviceId }) => serviceId)],
  );
}

export type CardRow = {
  pageId: string;
  name: string;
  services: { serviceId: string; name: string }[];
};

/** The cards of these pages, in order. */
export async function cardsOfPages(db: Queryable, pageIds: readonly string[]): Promise<CardRow[]> {
  if (pageIds.length === 0) return [];
  return db.query<CardRow>(
    `select c.page_id as "pageId", c.name, coalesce((
       select jsonb_agg(jsonb_build_object('serviceId', s.id, 'name', s.name) order by l.position)
       from status_page_card_services l join status_page_services s on s.id = l.service_id
       where l.card_id = c.id), '[]') as services
     from status_page_cards c where c.page_id = any($1::uuid[]) order by c.page_id, c.position`,
    [[...pageIds]],
  );
}
