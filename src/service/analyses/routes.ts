import Type from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { maxPending, queueAnalysis } from './queue.ts';
import { findAnalysis, lockPendingAnalyses, type AnalysisRow } from './statements.ts';
import { findCheck } from '../checks/storage/statements.ts';
import { findErrorGroup } from '../error-groups/statements.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import { date, dayOf } from '../http/fields/dates.ts';

/** Routes of root cause analyses: why the results of an error group fail (specification, "Root cause analysis"). */

const text = Type.String();

export const RootCauseAnalysis = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      status: StringEnum(['COMPLETED']),
      checkType: text,
      provider: Type.String({ description: 'builtin, or the name of the endpoint that was asked.' }),
      model: text,
      durationMs: Type.Number({ description: 'Milliseconds that it took.' }),
      checkId: Nullable(Type.String({ format: 'uuid' })),
      errorGroupId: Nullable(Type.String({ format: 'uuid' })),
      analysis: Type.Object({
        classification: text,
        userImpact: text,
        rootCause: text,
        codeFix: Nullable(text),
        evidence: Type.Array(
          Type.Object({
            artifacts: Type.Array(Type.Object({ name: text, type: text })),
            description: text,
          }),
        ),
        referenceLinks: Type.Array(Type.Object({ url: text, title: text })),
      }),
      created_at: date,
    },
    { $id: 'RootCauseAnalysis', title: 'RootCauseAnalysis' },
  ),
);

export const PendingAnalysis = open(
  Type.Object(
    { id: Type.String({ format: 'uuid' }), status: StringEnum(['PENDING']) },
    { $id: 'PendingAnalysis', title: 'PendingAnalysis' },
  ),
);

const GenerateBody = strict(
  Type.Object({
    userContext: Nullable(
      Type.String({ maxLength: 256, description: 'What the analysis should know besides the results.' }),
      { default: '' },
    ),
  }),
);

const presentAnalysis = (row: AnalysisRow) => ({
  id: row.id,
  status: 'COMPLETED' as const,
  checkType: row.checkType,
  provider: row.provider,
  model: row.model,
  durationMs: row.durationMs,
  checkId: row.checkId,
  errorGroupId: row.errorGroupId,
  analysis: row.analysis,
  created_at: dayOf(row.createdAt),
});

export function registerRootCauseAnalyses(api: PublicApi, { db, background, now }: ApiDeps): void {
  const tags = ['Error groups'];

  api.post(
    '/v1/root-cause-analyses/error-groups/:errorGroupId',
    {
      preValidation: bodyOrNone,
      config: { access: 'READ_RUN' },
      schema: {
        operationId: 'createRootCauseAnalysis',
        tags,
        summary: 'Have the results of an error group analysed',
        params: strict(Type.Object({ errorGroupId: Type.String() })),
        body: GenerateBody,
        response: {
          202: Type.Ref('PendingAnalysis', { description: 'Accepted' }),
          ...errorResponses(400, 404, 413, 415, 429),
        },
      },
    },
    async ({ accountId, params: { errorGroupId }, body }, reply) => {
      const id = await db.tx(async (tx) => {
        const group = isUuid(errorGroupId)
          ? await findErrorGroup(tx, { accountId, id: errorGroupId })
          : undefined;
        const check = group === undefined ? undefined : await findCheck(tx, { accountId, id: group.checkId });
        if (check === undefined) throw notFound('error group', errorGroupId, 'errorGroupId');
        if ((await lockPendingAnalyses(tx, accountId)) >= maxPending) {
          throw new HttpError(
            429,
            `${maxPending} analyses are already pending. Try again when some have finished.`,
          );
        }
        return queueAnalysis(tx, background, {
          accountId,
          checkId: check.id,
          errorGroupId,
          checkType: check.checkType,
          userContext: body.userContext ?? '',
          now: now(),
        });
      });
      return reply.code(202).send({ id, status: 'PENDING' as const });
    },
  );

  api.get(
    '/v1/root-cause-analyses/:id',
    {
      schema: {
        operationId: 'getRootCauseAnalysis',
        tags,
        summary: 'One analysis: 202 while it is being made',
        params: IdParams,
        response: {
          200: Type.Ref('RootCauseAnalysis'),
          202: Type.Ref('PendingAnalysis', { description: 'Ask again in two seconds' }),
          ...errorResponses(404),
        },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const row = isUuid(id) ? await findAnalysis(db, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('root cause analysis', id);
      if (row.analysis === null) return reply.code(202).send({ id, status: 'PENDING' as const });
      return reply.code(200).send(presentAnalysis(row));
    },
  );
}
