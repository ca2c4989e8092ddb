import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exporterMetrics } from '../../../src/service/analytics/exporter-catalogue.ts';
import { createLocationSampling, createQueueWaits } from '../../../src/service/locations/sampling.ts';
import { prometheusText } from '../../../src/service/analytics/prometheus-text.ts';
import { updateStatuses } from '../../../src/service/results/store-result.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';
import { minimalBody } from '../checks/check-bodies.ts';

test('labels are escaped by the rules of the text format', async () => {
  const samples = [{ labels: { name: 'a "b" \\ c\nd' }, value: 1.5 }];
  expect(
    await prometheusText([
      { name: 'x', help: 'Y.', samples },
      { name: 'z', help: '', samples: [] },
    ]),
  ).toBe('# HELP x Y.\n# TYPE x gauge\nx{name="a \\"b\\" \\\\ c\\nd"} 1.5\n');
});

describe.each(databases)('locations ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const clock = createClock('2026-03-05T12:00:30.000Z');
    let service: TestService;
    let location: { id: string; slugName: string };
    let checkId: string;

    beforeAll(async () => {
      service = await startTestService(await database.open(), { now: clock.now });
      const made = await service.call<{ id: string; slugName: string }>('POST', '/v1/private-locations', {
        body: { name: 'Büro "1"', slugName: 'office' },
      });
      location = made.body;
      const { locations: _locations, ...body } = minimalBody('URL');
      const check = await service.call<{ id: string }>('POST', '/v1/checks/url', {
        body: { ...body, privateLocations: ['office'] },
      });
      checkId = check.body.id;
    });
    afterAll(async () => {
      await service.close();
      await database.close();
    });
    beforeEach(() => clock.set('2026-03-05T12:00:30.000Z'));

    /** Runs that have waited for these seconds, or are with an agent. */
    async function queue(seconds: number, state: 'queued' | 'leased'): Promise<void> {
      const since = new Date(clock.now() - seconds * 1000);
      await service.db.query(
        `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, state,
           due_at, not_before, expires_at, claim_window_seconds)
         values ($1, $2, $3, $1, $1, $4, 'office', 'URL', 'uptime', $5, $6, $6, $7, 360)`,
        [uuidv7(), service.account.id, checkId, location.id, state, since, new Date(clock.now() + 360_000)],
      );
    }
    const sampling = () => createLocationSampling({ db: service.db, now: clock.now, log: silent });

    test('samples are created once a minute, by the first replica', async () => {
      await queue(20, 'queued');
      await queue(5, 'queued');
      await queue(100, 'leased');
      await Promise.all([sampling().tick(), sampling().tick()]);
      await service.db.query('delete from jobs');
      clock.advance(20_000);
      await sampling().tick();
      clock.advance(60_000);
      await sampling().tick();
      const seconds = Date.parse('2026-03-05T12:00:00Z') / 1000;
      const path = `/v1/private-locations/${location.id}/metrics`;
      const { status, body } = await service.call('GET', `${path}?from=${seconds}&to=${seconds + 600}`);
      expect(status).toBe(200);
      expect(body).toEqual({
        timestamps: ['2026-03-05T12:00:00.000Z', '2026-03-05T12:01:00.000Z'],
        queueSize: [2, 0],
        oldestScheduledCheckRun: [20, 0],
      });
      const early = await service.call('GET', `${path}?from=${seconds - 15 * 86_400}&to=${seconds}`);
      expect(early.status).toBe(400);
      expect(early.body['attributes']).toEqual({ from: ['must be less than 15 days ago'] });
      expect((await service.call('GET', `${path}?from=${seconds}`)).status).toBe(400);
      expect((await service.call('GET', `${path}?from=${seconds}&to=${seconds - 1}`)).status).toBe(400);
      const foreign = await service.call('GET', `${path}?from=${seconds}&to=${seconds + 1}`, {
        key: service.foreign.key,
      });
      expect(foreign.status).toBe(404);
      // After 15 days they are gone.
      clock.advance(16 * 86_400_000);
      await sampling().tick();
      const rows = await service.db.query('select 1 from location_samples');
      expect(rows).toHaveLength(1);
    });

    test('the exporter has locations and checks, and is not rendered again for each scrape', async () => {
      clock.advance(60_000);
      await queue(42, 'queued');
      await queue(1, 'leased');
      await queue(1, 'leased');
      const waits = createQueueWaits({ db: service.db, now: clock.now, log: silent });
      for (let index = 1; index <= 100; index++) {
        waits.record({ locationId: location.id, lane: 'uptime', milliseconds: index });
      }
      waits.record({ locationId: location.id, lane: 'suite', milliseconds: 5000 });
      await waits.loop.tick();
      const at = clock.now() - 60_000;
      const [id = ''] = await storeRuns(service.db, { accountId: service.account.id, checkId }, [
        { at, responseTime: 123.5, status: 'degraded' },
      ]);
      await updateStatuses(
        service.db,
        [
          {
            id,
            startedAt: at,
            stoppedAt: at,
            accountId: service.account.id,
            checkId,
            jobId: null,
            sequenceId: id,
            checkType: 'URL',
            runLocation: 'office',
            resultType: 'FINAL',
            status: 'degraded',
            hasFailures: false,
            hasErrors: false,
            isDegraded: true,
            overMaxResponseTime: false,
            isCancelled: false,
            responseTime: 123.5,
            attempts: 0,
            reason: null,
            body: '{}',
            sslDaysRemaining: 12,
          },
        ],
        new Date(clock.now()),
      );
      const scrape = async (key = service.account.key) => {
        const answer = await fetch(`${service.url}/v1/metrics`, {
          headers: { authorization: `Bearer ${key}` },
        });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
        return answer.text();
      };
      const page = await scrape();
      const where = `private_location_id="${location.id}",private_location_name="Büro \\"1\\"",private_location_slug_name="office"`;
      const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      const valueOf = (start: string) => {
        const line = lines.find((candidate) => candidate.startsWith(start));
        return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ')));
      };
      expect(valueOf(`private_location_queue_size{${where}} `)).toBe(1);
      expect(valueOf(`private_location_oldest_scheduled_check_run{${where}} `)).toBe(42);
      expect(valueOf(`private_location_agent_count{${where}} `)).toBe(0);
      expect(valueOf(`private_location_check_runs{${where},state="queued"} `)).toBe(1);
      expect(valueOf(`private_location_check_runs{${where},state="inflight"} `)).toBe(2);
      expect(valueOf(`private_location_lane_check_runs{${where},lane="uptime",state="queued"} `)).toBe(1);
      expect(valueOf(`private_location_lane_check_runs{${where},lane="uptime",state="inflight"} `)).toBe(2);
      expect(valueOf(`private_location_lane_check_runs{${where},lane="suite",state="queued"} `)).toBe(0);
      expect(valueOf(`private_location_queue_duration_ms{${where},queue="uptime",stat="avg"} `)).toBe(50.5);
      const p90 = valueOf(`private_location_queue_duration_ms{${where},queue="uptime",stat="p90"} `) ?? 0;
      expect(Math.abs(p90 - 90) / 90).toBeLessThan(0.011);
      expect(valueOf(`private_location_queue_duration_ms{${where},queue="main",stat="avg"} `)).toBe(5000);
      expect(valueOf(`check_up{check_id="${checkId}"`)).toBe(1);
      expect(valueOf(`check_degraded{check_id="${checkId}"`)).toBe(1);
      expect(valueOf(`check_response_time_ms{check_id="${checkId}"`)).toBe(123.5);
      expect(valueOf(`check_ssl_days_remaining{check_id="${checkId}"`)).toBe(12);
      expect(lines.every((line) => /^[a-z_]+\{([a-z_]+="([^"\\]|\\.)*",?)+\} -?[0-9.e+]+$/.test(line))).toBe(
        true,
      );
      // Names, types and labels are those that documents, rules and dashboard are made from, and the reverse.
      const families = parsePrometheus(page);
      expect([...families.keys()].sort()).toEqual(Object.keys(exporterMetrics).sort());
      for (const [name, { help, labels }] of Object.entries(exporterMetrics)) {
        const family = families.get(name);
        expect(family, name).toMatchObject({ type: 'gauge', help });
        const known: Record<string, readonly string[] | null> = labels;
        for (const sample of family?.samples ?? []) {
          expect(Object.keys(sample.labels).sort(), name).toEqual(Object.keys(labels).sort());
          for (const [label, text] of Object.entries(sample.labels)) {
            if (known[label] !== null) expect(known[label], `${name} ${label}`).toContain(text);
          }
        }
      }
      await service.db.query('delete from jobs');
      expect(await scrape()).toBe(page);
      clock.advance(10_000);
      expect(await scrape()).toContain(`private_location_queue_size{${where}} 0`);
      expect(await scrape(service.foreign.key)).not.toContain(location.id);
      const nobody = await fetch(`${service.url}/v1/metrics`);
      expect(nobody.status).toBe(401);
    });
  });
});
