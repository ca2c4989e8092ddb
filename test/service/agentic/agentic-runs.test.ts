import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import type { AnalysisConfig } from '../../../src/config/analysis.ts';
import { toError } from '../../../src/errors.ts';
import { createAgenticChecks } from '../../../src/service/agentic/run-checks.ts';
import { storeRunFiles } from '../../../src/service/agentic/run-files.ts';
import type { ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { agenticBench, encryption, unset } from '../../helpers/service/agentic-bench.ts';
import { silent } from '../../helpers/service/agent-service.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { addWindow } from '../maintenance/window-rows.ts';

/** When agentic checks run, and how their runs end, without a browser or a model. */

describe('runs of agentic checks', { timeout: 120_000 }, () => {
  const bench = agenticBench();
  const { clock, results, untilDue, run } = bench;

  test('files that are being stored when the service stops are lost, and do not delay it', async () => {
    const { db, service, stored } = bench;
    const stopping = new AbortController();
    const hanging: ArtifactFiles = {
      ...stored,
      write: (_id, { signal }) =>
        new Promise((_, reject) => {
          signal.throwIfAborted();
          signal.addEventListener('abort', () => reject(toError(signal.reason)));
          stopping.abort(new Error('the service stops'));
        }),
    };
    const deps = { db, files: hanging, now: clock.now, log: silent, signal: stopping.signal };
    const of = { accountId: service.account.id, jobId: uuidv7(), leaseToken: uuidv7() };
    const file = { name: 'script.json', type: 'file', contentType: 'application/json' } as const;
    const bytes = Buffer.from('[]');
    const left = await storeRunFiles(deps, of, [
      { ...file, bytes },
      { ...file, name: 'another.json', bytes },
    ]);
    expect(left.map(({ name, state }) => [name, state])).toEqual([
      ['script.json', 'lost'],
      ['another.json', 'lost'],
    ]);
  });

  test('without a browser, the result is errored with the reason', async () => {
    const { model } = bench;
    expect(existsSync('/nowhere/chromium')).toBe(false);
    bench.config = { ...bench.config, agenticBrowser: '/nowhere/chromium' };
    expect(await run()).toMatchObject({
      status: 'errored',
      reason: { code: 'BROWSER_UNAVAILABLE', owner: 'ours' },
    });
    expect(model.asked).toHaveLength(0);
  });

  describe('without a model', () => {
    beforeEach(() => {
      bench.config = unset;
    });
    const errored = { status: 'errored', reason: { code: 'TYPE_UNAVAILABLE', owner: 'ours' } };

    test('the result is errored with the reason', async () => {
      const result = await run();
      expect(result).toMatchObject({ ...errored, hasErrors: true });
      expect(String(result.details['errors'])).toContain('ANALYSIS_API_URL');
    });

    test('a check session runs the check at once and finishes with it', async () => {
      const { service, checkId, checks } = bench;
      const triggered = await service.call<{ sessions: Fields[] }>('POST', '/v2/check-sessions/trigger', {
        body: { target: { checkId: [checkId] } },
      });
      expect(triggered).toMatchObject({
        status: 201,
        body: { sessions: [{ checkType: 'AGENTIC', status: 'STARTED', runLocations: ['service'] }] },
      });
      const id = String(triggered.body.sessions[0]!['checkSessionId']);
      const waiting = service.call('GET', `/v2/check-sessions/${id}/completion?maxWaitSeconds=20`);
      await checks.tick();
      await checks.idle();
      expect(await waiting).toMatchObject({
        status: 200,
        body: {
          status: 'FAILED',
          results: [{ checkId, hasErrors: true, runLocation: 'service' }],
          inProgress: [],
        },
      });
      expect(await service.call('GET', `/v1/check-statuses/${checkId}`)).toMatchObject({
        body: { hasErrors: true },
      });
    });

    test('a trigger has a token for it', async () => {
      const { service, checkId } = bench;
      expect((await service.call('POST', `/v1/triggers/checks/${checkId}`)).status).toBe(201);
    });

    test('a test session runs it, even when deactivated, and does not change its status', async () => {
      const { db, service, checkId, checks } = bench;
      await db.query('update checks set activated = false where id = $1', [checkId]);
      const target = { checkId: [checkId], allowDeactivated: true };
      const { body } = await service.call('POST', '/v1/test-sessions/trigger', {
        body: { name: 'try', target },
      });
      await checks.tick();
      await checks.idle();
      expect(
        (await service.call('GET', `/v1/test-sessions/${String(body['testSessionId'])}`)).body,
      ).toMatchObject({
        status: 'FAILED',
        results: [{ checkId, hasErrors: true }],
      });
      expect((await service.call('GET', `/v1/check-statuses/${checkId}`)).status).toBe(404);
    });

    test('a check that is not saved is tried, with what the account had, and leaves no check', async () => {
      const { db, service, checks } = bench;
      const { status, body } = await service.call('POST', '/v1/checks/agentic/try', {
        body: {
          name: 'Tried',
          prompt: 'Buy a hat.',
          environmentVariables: [{ key: 'T', value: 'hidden-value', secret: true }],
        },
      });
      expect(status).toBe(201);
      const stored = JSON.stringify(await db.query('select * from checks'));
      expect([stored.includes('hidden-value'), stored.includes('Buy a hat.')]).toEqual([false, false]);
      await checks.tick();
      await checks.idle();
      const session = await service.call<{ results: Fields[] }>(
        'GET',
        `/v1/test-sessions/${String(body['testSessionId'])}`,
      );
      const [result] = session.body.results;
      const path = `/v1/check-results/${String(result?.['checkId'])}/${String(result?.['checkResultId'])}`;
      expect((await service.call('GET', path)).body).toMatchObject({
        ...errored,
        agenticCheckResult: { prompt: 'Buy a hat.' },
      });
      const owned = await db.query("select 1 from checks where name = 'Tried' and account_id is not null");
      expect(owned).toEqual([]);
    });

    test('a waiting run is cancelled at once; deleting the check ends its session', async () => {
      const { service, checkId, checks } = bench;
      const trigger = async () => {
        const { body } = await service.call<{ sessions: Fields[] }>('POST', '/v2/check-sessions/trigger', {
          body: { target: { checkId: [checkId] } },
        });
        return String(body.sessions[0]!['checkSessionId']);
      };
      const first = await trigger();
      await service.call('POST', `/v2/check-sessions/${first}/cancel`);
      expect((await service.call('GET', `/v2/check-sessions/${first}`)).body).toMatchObject({
        status: 'CANCELLED',
      });
      const second = await trigger();
      expect((await service.call('DELETE', `/v1/checks/${checkId}`)).status).toBe(204);
      expect((await service.call('GET', `/v2/check-sessions/${second}`)).body).toMatchObject({
        status: 'CANCELLED',
      });
      await checks.tick();
      await checks.idle();
    });

    test('a run of a dead replica is taken over; a run that never starts is missed', async () => {
      const { db, checkId, checks } = bench;
      await untilDue();
      const begun = () => db.query<{ id: string }>(`select id from agentic_runs where state = 'running'`);
      await checks.tick();
      await checks.idle();
      expect(await results()).toHaveLength(1);
      // As a replica leaves it that is killed.
      await untilDue();
      const stopped = createAgenticChecks({
        db,
        encryption,
        now: clock.now,
        log: silent,
        partitions: createPartitions(db),
        files: bench.files,
        get config(): AnalysisConfig {
          throw new Error('it dies here');
        },
      });
      await stopped.tick();
      await stopped.idle();
      expect(await begun()).toHaveLength(1);
      await checks.tick();
      expect(await begun()).toHaveLength(1);
      clock.advance(31_000);
      await checks.tick();
      await checks.idle();
      expect(await begun()).toEqual([]);
      const after = await results();
      expect(after).toHaveLength(2);
      expect(after[0]).toMatchObject(errored);

      await db.query(
        `insert into agentic_runs (id, run_id, sequence_id, account_id, check_id, due_at, expires_at)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), account_id, id, $2, $3 from checks where id = $1`,
        [checkId, new Date(clock.now() - 360_000), new Date(clock.now() - 1)],
      );
      await checks.tick();
      await checks.idle();
      const missed = (await results('?hasFailures=false')).find(({ status }) => status === 'missed');
      expect(missed).toMatchObject({ reason: { code: 'NOT_CLAIMED' }, details: { count: 1 } });
    });

    test('a check of a group runs with the group variables while the group is activated', async () => {
      const { db, service, checkId, checks } = bench;
      const { body } = await service.call<{ id: number }>('POST', '/v2/check-groups', {
        body: {
          name: 'Shop',
          tags: ['till'],
          locations: ['eu-west-1'],
          environmentVariables: [{ key: 'SHOP', value: 'https://shop.example/' }],
        },
      });
      await db.query(
        `update checks set group_id = $2, definition = definition || '{"prompt": "Open {{SHOP}} with {{PASSWORD}}."}'
         where id = $1`,
        [checkId, body.id],
      );
      // Without a suggestion: the variable is there.
      const of = { runLocation: 'service', details: { suggestions: [] } };
      expect(await run()).toMatchObject({ ...errored, ...of });
      await untilDue();
      await db.query('update check_groups set activated = false');
      await checks.tick();
      await checks.idle();
      expect(await results()).toHaveLength(1);
      expect(await db.query('select 1 from agentic_runs')).toEqual([]);
      await db.query('update check_groups set activated = true');
      await run();
      expect(await results()).toHaveLength(2);
      // A window for a tag of the group pauses it, which is no run that was missed.
      await addWindow(db, service.account.id, {
        now: clock.now(),
        startsAt: new Date(clock.now()).toISOString(),
        endsAt: new Date(clock.now() + 600_000).toISOString(),
        tags: ['till'],
      });
      await run();
      expect(await results()).toHaveLength(2);
      await db.query('delete from maintenance_windows');
    });

    test('a check that is deactivated while it waits is not run', async () => {
      const { db, checkId, checks } = bench;
      clock.advance(5 * 60_000);
      await db.query(
        `insert into agentic_runs (id, run_id, sequence_id, account_id, check_id, due_at, expires_at)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), account_id, id, $2, $3 from checks where id = $1`,
        [checkId, new Date(clock.now()), new Date(clock.now() + 360_000)],
      );
      await db.query('update checks set activated = false where id = $1', [checkId]);
      await checks.tick();
      await checks.idle();
      expect(await results()).toEqual([]);
      expect(await db.query('select 1 from agentic_runs')).toEqual([]);
    });
  });
});
