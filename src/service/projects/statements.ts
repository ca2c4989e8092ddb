import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';
import type { ResourceType } from './kinds.ts';

/** Statements on projects and on the resources that they own. */

export type ProjectRow = {
  id: string;
  logicalId: string;
  name: string;
  repoUrl: string | null;
  resourceCount: number;
  createdAt: Date;
  updatedAt: Date | null;
};

/** A resource of a project. */
export type Binding = {
  type: ResourceType;
  logicalId: string;
  physicalId: string;
  isProtected: boolean;
  isDetached: boolean;
  /** Encrypted. */
  payload: string;
  state: { [field: string]: unknown };
};

const columns = `p.id, p.logical_id as "logicalId", p.name, p.repo_url as "repoUrl", p.created_at as "createdAt",
  p.updated_at as "updatedAt", (select count(*)::float8 from project_resources r
    where r.project_id = p.id and not r.is_detached) as "resourceCount"`;

/** A page of the account's projects, by logical id. */
export async function listProjects(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<ProjectRow[]> {
  return db.query<ProjectRow>(
    `select ${columns} from projects p where account_id = $1 order by logical_id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

type Named = { accountId: string; logicalId: string };

export async function findProject(db: Queryable, named: Named): Promise<ProjectRow | undefined> {
  const rows = await db.query<ProjectRow>(
    `select ${columns} from projects p where account_id = $1 and logical_id = $2`,
    [named.accountId, named.logicalId],
  );
  return rows[0];
}

/** Creates or renames a project, locks it until `tx` ends and returns its id. */
export async function writeProject(
  tx: Queryable,
  project: Named & { id: string; name: string; repoUrl: string | null; now: Date },
): Promise<string> {
  const [row] = await tx.query<{ id: string }>(
    `insert into projects (id, account_id, logical_id, name, repo_url, created_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id, logical_id) do update set name = $4, repo_url = $5, updated_at = $6 returning id`,
    [project.id, project.accountId, project.logicalId, project.name, project.repoUrl, project.now],
  );
  if (row === undefined) throw new Error('the project was not written');
  return row.id;
}

export async function deleteProject(tx: Queryable, id: string): Promise<void> {
  await tx.query('delete from projects where id = $1', [id]);
}

/** All resources of a project, also detached ones. */
export async function bindingsOf(db: Queryable, projectId: string): Promise<Binding[]> {
  return db.query<Binding>(
    `select type, logical_id as "logicalId", physical_id as "physicalId", is_protected as "isProtected",
       is_detached as "isDetached", payload, state
     from project_resources where project_id = $1 order by type, logical_id`,
    [projectId],
  );
}

/** The resources of an account that projects own. */
export async function bindingsOfAccount(
  db: Queryable,
  accountId: string,
): Promise<(Pick<Binding, 'type' | 'logicalId' | 'physicalId' | 'isProtected'> & { project: string })[]> {
  return db.query(
    `select r.type, r.logical_id as "logicalId", r.physical_id as "physicalId", r.is_protected as "isProtected",
       p.logical_id as project
     from project_resources r join projects p on p.id = r.project_id
     where r.account_id = $1 and not r.is_detached order by r.type, p.logical_id, r.logical_id`,
    [accountId],
  );
}

/** Writes the resources of a project in one statement. */
export async function writeBindings(
  tx: Queryable,
  { accountId, projectId, bindings }: { accountId: string; projectId: string; bindings: readonly Binding[] },
): Promise<void> {
  if (bindings.length === 0) return;
  await tx.query(
    `insert into project_resources
       (project_id, account_id, type, logical_id, physical_id, is_protected, is_detached, payload, state)
     select $1, $2, b."type", b."logicalId", b."physicalId", b."isProtected", b."isDetached", b.payload, b.state
     from jsonb_to_recordset($3::jsonb) as b ("type" text, "logicalId" text, "physicalId" text, "isProtected" boolean,
       "isDetached" boolean, payload text, state jsonb)
     on conflict (project_id, type, logical_id) do update set physical_id = excluded.physical_id,
       is_protected = excluded.is_protected, is_detached = excluded.is_detached, payload = excluded.payload,
       state = excluded.state`,
    [projectId, accountId, toJsonb(bindings)],
  );
}

/** Forgets resources of a project; nothing happens to the resources themselves. */
export async function forgetBindings(
  tx: Queryable,
  projectId: string,
  bindings: readonly { type: string; logicalId: string }[],
): Promise<void> {
  if (bindings.length === 0) return;
  await tx.query(
    `delete from project_resources r using unnest($2::text[], $3::text[]) as b (type, logical_id)
     where r.project_id = $1 and r.type = b.type and r.logical_id = b.logical_id`,
    [projectId, bindings.map(({ type }) => type), bindings.map(({ logicalId }) => logicalId)],
  );
}

/** Of the given resources, those that a project owns. */
export async function ownersOf(
  tx: Queryable,
  { accountId, resources }: { accountId: string; resources: readonly { type: string; physicalId: string }[] },
): Promise<{ type: string; physicalId: string; project: string; projectId: string }[]> {
  if (resources.length === 0) return [];
  return tx.query(
    `select r.type, r.physical_id as "physicalId", p.logical_id as project, p.id as "projectId"
     from project_resources r join projects p on p.id = r.project_id,
       unnest($2::text[], $3::text[]) as b (type, physical_id)
     where r.account_id = $1 and r.type = b.type and r.physical_id = b.physical_id and not r.is_detached`,
    [accountId, resources.map(({ type }) => type), resources.map(({ physicalId }) => physicalId)],
  );
}

/** Makes checks due now. The holder of a check is told of it. */
export async function runSoon(tx: Queryable, checkIds: readonly string[], now: Date): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query(
    `with soon as (
       update checks c set next_due_at = $2 where id = any($1::uuid[]) and activated and (next_due_at is not null
         or exists (select 1 from kept_checks k where k.check_id = c.id and k.dropped_at is null))
       returning account_id, id
     )
     select note_kept_change(account_id, id, null) from soon`,
    [checkIds, now],
  );
}

/** Those of these checks that are in one of these groups, or that name one of these snippets themselves. */
export async function checksThatUse(
  db: Queryable,
  {
    ids,
    groupIds,
    snippetIds,
  }: { ids: readonly string[]; groupIds: readonly number[]; snippetIds: readonly number[] },
): Promise<Set<string>> {
  if (groupIds.length + snippetIds.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(
    `select id from checks where id = any($1::uuid[]) and (group_id = any($2::bigint[])
       or (definition->>'setupSnippetId')::bigint = any($3::bigint[])
       or (definition->>'tearDownSnippetId')::bigint = any($3::bigint[]))`,
    [ids, groupIds, snippetIds],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The part of a stored resource that holds its secrets, encrypted. */
export type SecretRow = { id: string; definition: { [field: string]: unknown } };

/** For each type with secrets: its table, its ids as a parameter, and what holds them. */
const secretSources: { readonly [T in ResourceType]?: string } = {
  variable: `select key as id, jsonb_build_object('key', key, 'value', value, 'secret', secret) as definition
    from account_variables where account_id = $1 and key = any($2::text[])`,
  check: 'select id::text, definition from checks where account_id = $1 and id = any($2::uuid[])',
  'check-group': `select id::text, definition from check_groups
    where account_id = $1 and id = any($2::bigint[])`,
  'alert-channel': `select id::text, jsonb_build_object('type', type, 'config', config) as definition
    from alert_channels where account_id = $1 and id = any($2::bigint[])`,
};

/** Reads the secrets of resources of one type, encrypted. */
export async function secretRows(
  tx: Queryable,
  { type, accountId, ids }: { type: ResourceType; accountId: string; ids: readonly string[] },
): Promise<SecretRow[]> {
  const source = secretSources[type];
  return source === undefined || ids.length === 0 ? [] : tx.query<SecretRow>(source, [accountId, ids]);
}
