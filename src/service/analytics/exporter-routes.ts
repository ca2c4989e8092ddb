import Type from 'typebox';
import { lanes } from '../../protocol/check-types.ts';
import { exporterMetrics, type ExporterMetricName } from './exporter-catalogue.ts';
import { prometheusText, prometheusType, type Gauges } from './prometheus-text.ts';
import type { Db } from '../db/database.ts';
import {
  checkFigures,
  locationFigures,
  queueWaits,
  type CheckFigures,
  type LocationFigures,
} from '../locations/figure-statements.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { countFiles } from '../result-files/file-statements.ts';
import { agentsByLocation } from '../locations/agents.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

/** Period whose claims count for the wait of runs. */
const waitsMs = 2 * 60_000;
/** Metrics are computed at most this often per account, however many clients scrape them. */
const cachedMs = 10_000;
const maxCached = 1_000;
/** Limit of checks in one response; larger accounts should use the API. */
const maxChecks = 20_000;

export function registerExporter(api: PublicApi, { db, now }: Pick<ApiDeps, 'db' | 'now'>): void {
  const pages = new Map<string, { until: number; page: Promise<string> }>();

  api.get(
    '/v1/metrics',
    {
      schema: {
        operationId: 'getPrometheusMetrics',
        tags: ['Analytics'],
        summary: 'Locations and checks as they stand, for Prometheus; made anew every 10 seconds at most',
        // Scrapers add their own query parameters.
        querystring: Type.Object({}, { additionalProperties: true }),
        response: {
          200: { description: 'Text format 0.0.4', content: { 'text/plain': { schema: Type.String() } } },
          ...errorResponses(),
        },
      },
    },
    async ({ accountId }, reply) => {
      const time = now();
      let known = pages.get(accountId);
      if (known === undefined || known.until <= time) {
        if (pages.size >= maxCached) pages.clear();
        known = { until: time + cachedMs, page: pageOf(db, accountId, time) };
        // A failed response is not cached.
        known.page.catch(() => pages.delete(accountId));
        pages.set(accountId, known);
      }
      const text = await known.page;
      return reply.type(prometheusType).serializer(String).send(text);
    },
  );
}

async function pageOf(db: Db, accountId: string, time: number): Promise<string> {
  const locations = await locationFigures(db, { accountId, now: new Date(time) });
  const agentsOf = await agentsByLocation(db, { locationIds: locations.map(({ id }) => id), now: time });
  const waits = await queueWaits(db, { accountId, since: new Date(time - waitsMs) });
  const checks = await checkFigures(db, { accountId, limit: maxChecks });
  const labels = ({ id, name, slugName }: LocationFigures) => ({
    private_location_id: id,
    private_location_name: name,
    private_location_slug_name: slugName,
  });
  const ofLocations = (name: ExporterMetricName, value: (location: LocationFigures) => number): Gauges =>
    gauge(
      name,
      locations.map((location) => ({ labels: labels(location), value: value(location) })),
    );
  return prometheusText([
    ofLocations('private_location_queue_size', ({ queued }) => queued),
    ofLocations('private_location_oldest_scheduled_check_run', ({ oldestSeconds }) => oldestSeconds),
    gauge(
      'private_location_queue_duration_ms',
      waits.flatMap(({ locationId, queue, avg, p90, p99 }) => {
        const location = locations.find(({ id }) => id === locationId);
        if (location === undefined) return [];
        return Object.entries({ avg, p90, p99 }).map(([stat, value]) => ({
          labels: { ...labels(location), queue, stat },
          value,
        }));
      }),
    ),
    ofLocations('private_location_agent_count', ({ id }) => agentsOf(id).agentCount),
    gauge(
      'private_location_check_runs',
      locations.flatMap((location) => [
        { labels: { ...labels(location), state: 'queued' }, value: location.queued },
        { labels: { ...labels(location), state: 'inflight' }, value: location.inFlight },
      ]),
    ),
    gauge(
      'private_location_lane_check_runs',
      locations.flatMap((location) =>
        lanes.flatMap((lane) => [
          { labels: { ...labels(location), lane, state: 'queued' }, value: location.lanes[lane].queued },
          { labels: { ...labels(location), lane, state: 'inflight' }, value: location.lanes[lane].inFlight },
        ]),
      ),
    ),
    ...gaugesOfChecks(checks),
    gauge(
      'result_files',
      Object.entries(await countFiles(db, accountId)).map(([state, value]) => ({ labels: { state }, value })),
    ),
  ]);
}

function gaugesOfChecks(checks: readonly CheckFigures[]): Gauges[] {
  const ofChecks = (name: ExporterMetricName, value: (check: CheckFigures) => number | null): Gauges =>
    gauge(
      name,
      checks.flatMap((check) => {
        const number = value(check);
        if (number === null) return [];
        const labels = {
          check_id: check.id,
          check_name: check.name,
          check_type: check.checkType,
          group: check.groupName ?? '',
          activated: String(check.activated),
          muted: String(check.muted),
        };
        return [{ labels, value: number }];
      }),
    );
  const flag = (value: boolean | null) => (value === null ? null : Number(value));
  return [
    ofChecks('check_up', ({ hasFailures, hasErrors }) =>
      // Errored runs do not describe the target.
      hasFailures === null || hasErrors === true ? null : Number(!hasFailures),
    ),
    ofChecks('check_degraded', ({ isDegraded }) => flag(isDegraded)),
    ofChecks('check_response_time_ms', ({ responseTime }) => responseTime),
    ofChecks('check_ssl_days_remaining', ({ sslDaysRemaining }) => sslDaysRemaining),
    ofChecks('check_last_run_timestamp_seconds', ({ lastStartedAt }) =>
      lastStartedAt === null ? null : lastStartedAt.getTime() / 1000,
    ),
  ];
}

function gauge(name: ExporterMetricName, samples: Gauges['samples']): Gauges {
  return { name, help: exporterMetrics[name].help, samples };
}
