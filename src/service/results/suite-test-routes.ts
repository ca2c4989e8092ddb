import Type from 'typebox';
import { StringEnum } from '../../protocol/schema.ts';
import { findCheck } from '../checks/storage/statements.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { unixRange, unixRangeFields } from '../http/unix-range.ts';
import { historyOf, testStatuses } from './suite-history.ts';
import { suiteTests } from './suite-statements.ts';

const testsOfRun = 1_000;
const maxRows = 20_000;

export const SuiteTests = open(
  Type.Object(
    {
      tests: Type.Array(
        Type.Object({
          title: Type.String({ description: 'Project, file, describe blocks and title.' }),
          flaky: Type.Boolean({
            description: 'It passed after a retry, or changed between passed and failed at least twice.',
          }),
          runs: Type.Array(
            Type.Object({
              resultId: Type.String({ format: 'uuid' }),
              startedAt: Type.String({ format: 'date-time' }),
              status: StringEnum(testStatuses),
              durationMs: Type.Number({ minimum: 0 }),
              retries: Type.Integer({ minimum: 0 }),
            }),
            { description: 'Newest first.' },
          ),
        }),
        { description: `Failing tests first; of each run its first ${testsOfRun} tests.` },
      ),
      isPartial: Type.Boolean({
        description: `The range has more than ${maxRows} tests: its oldest runs are left out.`,
      }),
    },
    { $id: 'SuiteTests', title: 'SuiteTests' },
  ),
);

const Query = strict(
  Type.Object({
    ...unixRangeFields,
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 30, description: 'Runs that are read.' }),
    title: Type.Optional(Type.String({ maxLength: 600, description: 'Only the test with this title.' })),
  }),
);

/** Registers the history of each test of a suite. */
export function registerSuiteTests(api: PublicApi, { db }: Pick<ApiDeps, 'db'>): void {
  api.get(
    '/v1/checks/:id/suite-tests',
    {
      schema: {
        operationId: 'listSuiteTests',
        tags: ['Results'],
        summary: 'The tests of a suite with their history: the last runs of a stretch of time',
        params: IdParams,
        querystring: Query,
        response: { 200: Type.Ref('SuiteTests'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id }, query }) => {
      const range = unixRange(query);
      const check = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
      if (check === undefined) throw notFound('check', id);
      const rows = await suiteTests(db, {
        accountId,
        checkId: id,
        ...range,
        runs: query.limit,
        ofRun: testsOfRun,
        limit: maxRows,
      });
      const tests = historyOf(rows);
      return {
        tests: query.title === undefined ? tests : tests.filter(({ title }) => title === query.title),
        isPartial: rows.length === maxRows,
      };
    },
  );
}
