import Type from 'typebox';
import { StringEnum } from '../../protocol/schema.ts';
import { notFound } from '../http/errors.ts';
import { listRuntimes } from '../engine/runtimes.ts';
import { open } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams } from '../http/fields/path-params.ts';
import type { PublicApi } from '../http/api.ts';

export const Runtime = open(
  Type.Object(
    {
      name: Type.String({ description: 'The value of runtimeId.' }),
      multiStepSupport: Type.Boolean(),
      nodeJsVersion: Type.String(),
      stage: StringEnum(['ALPHA', 'BETA', 'CURRENT', 'DEPRECATED', 'REMOVED', 'STABLE']),
      runtimeEndOfLife: Type.String({ description: 'Month, day and year: 12/31/2022.' }),
      description: Type.String(),
      dependencies: Type.Record(Type.String(), Type.String(), {
        description: 'Version of each bundled package; empty for runtimes that are removed.',
      }),
    },
    { $id: 'Runtime', title: 'Runtime' },
  ),
);

/** Lists the runtimes that checks may name. A location's agents report which of them they have. */
export function registerRuntimes(api: PublicApi): void {
  api.get(
    '/v1/runtimes',
    {
      schema: {
        operationId: 'listRuntimes',
        tags: ['Runtimes'],
        summary: 'Runtimes, newest first',
        response: { 200: Type.Array(Type.Ref('Runtime')), ...errorResponses() },
      },
    },
    async () => [...listRuntimes()],
  );

  api.get(
    '/v1/runtimes/:id',
    {
      schema: {
        operationId: 'getRuntime',
        tags: ['Runtimes'],
        summary: 'One runtime: its bundled packages and their versions',
        params: IdParams,
        response: { 200: Type.Ref('Runtime'), ...errorResponses(404) },
      },
    },
    async ({ params: { id } }) => {
      const runtime = listRuntimes().find(({ name }) => name === id);
      if (runtime === undefined) throw notFound('runtime', id);
      return runtime;
    },
  );
}
