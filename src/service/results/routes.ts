import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AssertionResult } from '../../protocol/assertions.ts';
import { checkTypes } from '../../protocol/check-types.ts';
import { Reason } from '../../protocol/reasons.ts';
import { Artifact, LogEntry, resultStatuses, Timings, type ResultStatus } from '../../protocol/result.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { countListed } from '../db/count-rows.ts';
import { findCheck } from '../checks/storage/statements.ts';
import type { Queryable } from '../db/database.ts';
import { findResult, listResults, type ResultFilter, type ResultRow } from './statements.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import { atMost } from '../http/rate-limit.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { SuiteTotals } from './suite-totals.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { isUuid } from '../http/fields/path-params.ts';
import { withArtifacts } from './artifact-list.ts';
import { baseUrl } from '../http/base-url.ts';
import { presentListedResult, presentResult, resultForms } from './form.ts';

const OwnForm = (type: string) =>
  Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: `Form of ${type} results; only where one result is read.`,
    }),
  );

const ownForms = Object.fromEntries(
  Object.entries(resultForms).flatMap(([type, own]) =>
    own === null ? [] : [[own.field, OwnForm(type)] as const],
  ),
);

/** A result in an answer. The fields from `assertions` on are absent if `isPartial` is true. */
export const CheckResult = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      checkId: Type.String({ format: 'uuid' }),
      sequenceId: Type.String({ format: 'uuid', description: 'Shared by all attempts of one run.' }),
      checkType: Type.String(),
      runLocation: Type.String(),
      resultType: StringEnum(['FINAL', 'ATTEMPT']),
      status: StringEnum(resultStatuses),
      hasFailures: Type.Boolean(),
      hasErrors: Type.Boolean(),
      isDegraded: Type.Boolean(),
      overMaxResponseTime: Type.Boolean(),
      isCancelled: Type.Boolean(),
      responseTime: Type.Number({ description: 'Milliseconds.' }),
      attempts: Type.Integer({ description: 'Retries so far.' }),
      reason: Nullable(Reason),
      errorGroupIds: Type.Array(Type.String({ format: 'uuid' }), {
        description: 'Groups of its errors; empty where it has none.',
      }),
      startedAt: Type.String({ format: 'date-time' }),
      stoppedAt: Type.String({ format: 'date-time' }),
      created_at: Type.String({ format: 'date-time' }),
      totals: Type.Optional(
        Nullable(SuiteTotals, {
          description: 'Only of PLAYWRIGHT: how many tests came to what; null where the run came to none.',
        }),
      ),
      isPartial: Type.Boolean({ description: 'Too large for a list: read it by its id for the rest.' }),
      assertions: Type.Optional(Type.Array(AssertionResult)),
      timings: Type.Optional(Nullable(Timings)),
      details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      artifacts: Type.Optional(Type.Array(Artifact)),
      log: Type.Optional(Type.Array(LogEntry)),
      ...ownForms,
    },
    { $id: 'CheckResult', title: 'CheckResult' },
  ),
);

/** The end of the year 9999, the last that the database and ISO 8601 write in the same way. */
const latestSeconds = 253_402_300_799;

const UnixSeconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: latestSeconds, description }));

const filterFields = {
  location: Type.Optional(Type.String({ maxLength: 64 })),
  checkType: Type.Optional(StringEnum(checkTypes)),
  hasFailures: Type.Optional(Type.Boolean()),
  status: Type.Optional(StringEnum(resultStatuses)),
  resultType: StringEnum(['FINAL', 'ATTEMPT', 'ALL'], { default: 'FINAL' }),
  sequenceId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'Only results of this run; with the resultType ALL, all its attempts.',
    }),
  ),
  from: UnixSeconds('Unix seconds: runs that started at or after it.'),
  to: UnixSeconds('Unix seconds: runs that started at or before it.'),
};

const WindowQuery = strict(Type.Object({ ...paginationFields, ...filterFields }));

const resultFields = Object.keys(CheckResult.properties);

const CursorQuery = strict(
  Type.Object(
    {
      limit: paginationFields.limit,
      nextId: Type.Optional(
        Type.String({
          format: 'uuid',
          description: 'The nextId of the page before; left out: the newest results.',
        }),
      ),
      fields: Type.Optional(
        Type.Array(StringEnum(resultFields), {
          minItems: 1,
          uniqueItems: true,
          description: 'Only these fields of each result.',
        }),
      ),
      ...filterFields,
    },
    { style: 'form', explode: false },
  ),
);

/** A page of results; `nextId` names the next one. */
export const CheckResultPage = open(
  Type.Object(
    {
      length: Type.Integer({ description: 'Results of this page.' }),
      entries: Type.Array(Type.Partial(Type.Object(CheckResult.properties))),
      nextId: Nullable(Type.String({ format: 'uuid', description: 'Null: this was the last page.' })),
    },
    { $id: 'CheckResultPage', title: 'CheckResultPage' },
  ),
);

/** v1 shows six hours at a time. */
const windowSeconds = 6 * 3600;

/** The requested window, at most six hours. If only one limit is given, the other one is six hours away. Throws 400. */
function windowOf({ from, to }: { from?: number; to?: number }, now: number): { from: number; to: number } {
  if (from === undefined) {
    const until = to ?? now / 1000;
    return { from: until - windowSeconds, to: until };
  }
  const until = to ?? Math.min(from + windowSeconds, latestSeconds);
  if (until - from > windowSeconds) {
    throw badRequest({
      from: ['must be at most 6 hours before to; use /v2/check-results for longer windows'],
    });
  }
  return { from, to: until };
}

const only = (result: { [field: string]: unknown }, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(result).filter(([name]) => fields.includes(name)));

const instant = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000));

/** Adds `errorGroupIds` to rows of results. */
export type WithErrorGroups = (
  db: Queryable,
  rows: readonly ResultRow[],
  options: { accountId: string },
) => Promise<ResultRow[]>;

type Filter = {
  location?: string;
  checkType?: string;
  hasFailures?: boolean;
  status?: ResultStatus;
  resultType: 'FINAL' | 'ATTEMPT' | 'ALL';
  sequenceId?: string;
  from?: number;
  to?: number;
};

/** Reads results of a check, and lets the answer count all of them. Throws 400 or 404. */
async function list(
  db: Queryable,
  request: FastifyRequest,
  { checkId }: { checkId: string },
  query: Filter,
  page: Pick<ResultFilter, 'limit' | 'offset' | 'after'>,
): Promise<ResultRow[]> {
  const { accountId } = request;
  if (query.from !== undefined && query.to !== undefined && query.from > query.to)
    throw badRequest({ from: ['must not be after to'] });
  const check = isUuid(checkId) ? await findCheck(db, { accountId, id: checkId }) : undefined;
  if (check === undefined) throw notFound('check', checkId, 'checkId');
  const filter = {
    accountId,
    checkId,
    runLocation: query.location ?? null,
    checkType: query.checkType ?? null,
    hasFailures: query.hasFailures ?? null,
    status: query.status ?? null,
    resultType: query.resultType === 'ALL' ? null : query.resultType,
    sequenceId: query.sequenceId ?? null,
    from: instant(query.from),
    to: instant(query.to),
  };
  request.countAll = () => countListed(db, (counting, all) => listResults(counting, { ...filter, ...all }));
  return listResults(db, { ...filter, ...page });
}

/** Routes that list and read check results. */
export function registerCheckResults(
  api: PublicApi,
  { db, now, publicUrl }: ApiDeps,
  { withErrorGroups }: { withErrorGroups: WithErrorGroups },
): void {
  const present = async (request: FastifyRequest, rows: readonly ResultRow[]) =>
    withArtifacts(db, await withErrorGroups(db, rows, request), {
      accountId: request.accountId,
      base: baseUrl(publicUrl, request),
      now: now(),
    });

  api.get(
    '/v1/check-results/:checkId',
    {
      schema: {
        operationId: 'listCheckResults',
        tags: ['Results'],
        summary: "A check's results of six hours, newest first; without from and to those of the last six",
        params: strict(Type.Object({ checkId: Type.String() })),
        querystring: WindowQuery,
        response: { 200: Type.Array(Type.Ref('CheckResult')), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const { query } = request;
      const page = { limit: query.limit, offset: offsetOf(query) };
      const rows = await list(db, request, request.params, { ...query, ...windowOf(query, now()) }, page);
      return (await present(request, rows)).map(presentListedResult);
    },
  );

  api.get(
    '/v2/check-results/:checkId',
    {
      config: { ...atMost(60, '1 minute'), isByCursor: true },
      schema: {
        operationId: 'listCheckResultsByCursor',
        tags: ['Results'],
        summary: "A check's results, newest first, page after page",
        params: strict(Type.Object({ checkId: Type.String() })),
        querystring: CursorQuery,
        response: { 200: Type.Ref('CheckResultPage'), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const { nextId, limit, fields } = request.query;
      const time = nextId === undefined ? null : timeOfUuidv7(nextId);
      if (nextId !== undefined && time === null)
        throw badRequest({ nextId: ['is not the nextId of a page'] });
      const after = nextId === undefined || time === null ? null : { id: nextId, startedAt: new Date(time) };
      // One more than shown, to find out whether there is another page.
      const page = { limit: limit + 1, offset: 0, after };
      const rows = await list(db, request, request.params, request.query, page);
      const shown = rows.slice(0, limit);
      const entries = (await present(request, shown)).map(presentListedResult);
      return {
        length: entries.length,
        entries: fields === undefined ? entries : entries.map((entry) => only(entry, fields)),
        nextId: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      };
    },
  );

  api.get(
    '/v1/check-results/:checkId/:checkResultId',
    {
      schema: {
        operationId: 'getCheckResult',
        tags: ['Results'],
        summary: 'One result, whole',
        params: strict(Type.Object({ checkId: Type.String(), checkResultId: Type.String() })),
        response: { 200: Type.Ref('CheckResult'), ...errorResponses(404) },
      },
    },
    async (request) => {
      const { accountId } = request;
      const { checkId, checkResultId: id } = request.params;
      const time = timeOfUuidv7(id);
      const row =
        isUuid(checkId) && time !== null
          ? await findResult(db, { accountId, checkId, id, startedAt: new Date(time) })
          : undefined;
      if (row === undefined) throw notFound('result', id, 'checkResultId');
      const [complete = row] = await present(request, [row]);
      return presentResult(complete);
    },
  );
}
