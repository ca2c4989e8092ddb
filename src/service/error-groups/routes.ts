import Type from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { findCheck } from '../checks/storage/statements.ts';
import type { Queryable } from '../db/database.ts';
import {
  archiveErrorGroup,
  findErrorGroup,
  listErrorGroups,
  type ErrorGroupRow,
  countErrorGroups,
} from './statements.ts';
import { notFound } from '../http/errors.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { dateTime } from '../http/fields/dates.ts';
import { ignored } from '../http/fields/ignored-fields.ts';

const archives = {
  archivedUntilNextEvent: Type.Boolean({ description: 'Done with, until it happens again.' }),
  archiveForEver: Type.Boolean({ description: 'Done with, even when it happens again.' }),
};

/** A group of a check's errors with the same cleaned message (specification, "Error group"). */
export const ErrorGroup = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      checkId: Type.String({ format: 'uuid' }),
      errorHash: Type.String({ description: 'SHA-256 of the cleaned message.' }),
      rawErrorMessage: Nullable(Type.String({ description: 'Of the latest result.' })),
      cleanedErrorMessage: Type.String({
        description: 'Without ids, numbers, times, addresses, paths and colours.',
      }),
      firstSeen: dateTime,
      lastSeen: dateTime,
      ...archives,
      rootCauseAnalyses: Type.Array(
        Type.Object({
          id: Type.String({ format: 'uuid' }),
          status: StringEnum(['PENDING', 'COMPLETED']),
          provider: Nullable(Type.String()),
          classification: Nullable(Type.String()),
          created_at: dateTime,
        }),
        { description: 'The newest first.' },
      ),
    },
    { $id: 'ErrorGroup', title: 'ErrorGroup' },
  ),
);

const ChangeBody = strictPartial(
  Type.Object({
    ...archives,
    id: ignored,
    checkId: ignored,
    errorHash: ignored,
    rawErrorMessage: ignored,
    cleanedErrorMessage: ignored,
    firstSeen: ignored,
    lastSeen: ignored,
    rootCauseAnalyses: ignored,
  }),
);

/** Number of analyses shown with a group. */
const maxAnalyses = 10;

/** A root cause analysis, as shown with its group. */
export type GroupAnalysis = {
  id: string;
  errorGroupId: string | null;
  status: string;
  /** Empty while the analysis is pending. */
  provider: string;
  analysis: { classification: string } | null;
  createdAt: Date;
};

/** Reads the newest analyses of each group, at most `limit` per group. */
export type AnalysesOfGroups = (
  db: Queryable,
  options: { groupIds: readonly string[]; limit: number },
) => Promise<readonly GroupAnalysis[]>;

const presentGroup = (row: ErrorGroupRow, analyses: readonly GroupAnalysis[]) => ({
  id: row.id,
  checkId: row.checkId,
  errorHash: row.errorHash,
  rawErrorMessage: row.rawErrorMessage,
  cleanedErrorMessage: row.cleanedErrorMessage,
  firstSeen: row.firstSeen.toISOString(),
  lastSeen: row.lastSeen.toISOString(),
  archivedUntilNextEvent: row.archivedUntilNextEvent,
  archiveForEver: row.archiveForEver,
  rootCauseAnalyses: analyses
    .filter(({ errorGroupId }) => errorGroupId === row.id)
    .map(({ id, status, provider, analysis, createdAt }) => ({
      id,
      status,
      provider: provider === '' ? null : provider,
      classification: analysis?.classification ?? null,
      created_at: createdAt.toISOString(),
    })),
});

/** Routes of error groups. Only failed runs create groups. */
export function registerErrorGroups(
  api: PublicApi,
  { db, now }: ApiDeps,
  { analysesOfGroups }: { analysesOfGroups: AnalysesOfGroups },
): void {
  const tags = ['Error groups'];

  async function present(queryable: Queryable, rows: readonly ErrorGroupRow[]) {
    const groupIds = rows.map(({ id }) => id);
    const analyses = await analysesOfGroups(queryable, { groupIds, limit: maxAnalyses });
    return rows.map((row) => presentGroup(row, analyses));
  }

  api.get(
    '/v1/error-groups/checks/:checkId',
    {
      schema: {
        operationId: 'listErrorGroups',
        tags,
        summary: "A check's errors by kind, those seen last first",
        params: strict(Type.Object({ checkId: Type.String() })),
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('ErrorGroup')), ...errorResponses(400, 404) },
      },
      config: {
        countAll: async ({ accountId, params }) =>
          countErrorGroups(db, { accountId, checkId: (params as { checkId: string }).checkId }),
      },
    },
    async ({ accountId, params: { checkId }, query }) => {
      const check = isUuid(checkId) ? await findCheck(db, { accountId, id: checkId }) : undefined;
      if (check === undefined) throw notFound('check', checkId, 'checkId');
      const { limit } = query;
      return present(db, await listErrorGroups(db, { accountId, checkId, limit, offset: offsetOf(query) }));
    },
  );

  api.get(
    '/v1/error-groups/:id',
    {
      schema: {
        operationId: 'getErrorGroup',
        tags,
        summary: 'One error group',
        params: IdParams,
        response: { 200: Type.Ref('ErrorGroup'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }) => {
      const row = isUuid(id) ? await findErrorGroup(db, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('error group', id);
      return (await present(db, [row]))[0];
    },
  );

  api.patch(
    '/v1/error-groups/:id',
    {
      schema: {
        operationId: 'updateErrorGroup',
        tags,
        summary: 'Archive an error group, or bring it back: fields that are left out stay as they are',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('ErrorGroup'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params: { id }, body }) => {
      const row = isUuid(id)
        ? await archiveErrorGroup(db, {
            accountId,
            id,
            archivedUntilNextEvent: body.archivedUntilNextEvent ?? null,
            archiveForEver: body.archiveForEver ?? null,
            now: new Date(now()),
          })
        : undefined;
      if (row === undefined) throw notFound('error group', id);
      return (await present(db, [row]))[0];
    },
  );
}
