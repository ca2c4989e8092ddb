import Type from 'typebox';
import { sampleDays } from './sampling.ts';
import { listLocationSamples } from './figure-statements.ts';
import { findPrivateLocation } from './statements.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { atMost } from '../http/rate-limit.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { dayMs } from '../../durations.ts';
import { rounded } from '../../rounding.ts';

/** Samples of a location as arrays of equal length; each index is one minute. */
export const LocationMetrics = open(
  Type.Object(
    {
      timestamps: Type.Array(Type.String({ format: 'date-time' })),
      queueSize: Type.Array(Type.Integer({ description: 'Runs that waited for an agent.' })),
      oldestScheduledCheckRun: Type.Array(
        Type.Number({
          description: 'Seconds that the one which had waited longest had waited; 0: none waited.',
        }),
      ),
    },
    { $id: 'LocationMetrics', title: 'LocationMetrics' },
  ),
);

const UnixSeconds = (description: string) =>
  Type.Number({ minimum: 0, maximum: 253_402_300_799, description });

/** Registers the route of location samples. */
export function registerLocationMetrics(api: PublicApi, { db, now }: Pick<ApiDeps, 'db' | 'now'>): void {
  api.get(
    '/v1/private-locations/:id/metrics',
    {
      config: atMost(300, '1 day'),
      schema: {
        operationId: 'getPrivateLocationMetrics',
        tags: ['Locations'],
        summary: 'How many runs waited at a private location, minute by minute',
        params: IdParams,
        querystring: strict(
          Type.Object({
            from: UnixSeconds(`Unix seconds; at most ${sampleDays} days ago.`),
            to: UnixSeconds('Unix seconds.'),
          }),
        ),
        response: { 200: Type.Ref('LocationMetrics'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id }, query: { from, to } }) => {
      if (from * 1000 < now() - sampleDays * dayMs) {
        throw badRequest({ from: [`must be less than ${sampleDays} days ago`] });
      }
      if (from >= to) throw badRequest({ from: ['must be before to'] });
      const location = isUuid(id) ? await findPrivateLocation(db, { accountId, id }) : undefined;
      if (location === undefined) throw notFound('private location', id);
      const range = { from: new Date(from * 1000), to: new Date(to * 1000) };
      const samples = await listLocationSamples(db, { locationId: id, ...range });
      return {
        timestamps: samples.map(({ sampledAt }) => sampledAt.toISOString()),
        queueSize: samples.map(({ queueSize }) => queueSize),
        oldestScheduledCheckRun: samples.map(({ oldestSeconds }) => rounded(oldestSeconds, 3)),
      };
    },
  );
}
