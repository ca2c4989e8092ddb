import { describe, expect, it } from 'vitest';
import { resultOf } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { second, sessionBench, type Session } from '../../helpers/service/session-bench.ts';
import { kinds } from '../../helpers/service/shown-runs.ts';
import { minimalRequests } from '../checks/check-bodies.ts';

/** Check sessions and test sessions of the types of networks: what the agent is asked, and what the session shows. */

const types = [
  ['SSL', 'ssl', 'sslCheckResult', { port: 443 }],
  ['GRPC', 'grpc', 'grpcCheckResult', { url: 'orders.example' }],
  ['TRACEROUTE', 'traceroute', 'tracerouteCheckResult', { url: 'shop.example', protocol: 'TCP' }],
] as const;
const outcomes = [
  ['passed', {}, 'PASSED'],
  ['degraded', { isDegraded: true }, 'DEGRADED'],
  ['failed', { hasFailures: true }, 'FAILED'],
] as const;

describe.each(databases)('sessions of the types of networks: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = sessionBench(database);
    const { clock, create, triggerOne, read, connect } = bench;
    const created = (path: string, type: keyof typeof minimalRequests, fields: Fields = {}) =>
      create(`/v1/checks/${path}`, {
        name: `A ${type} check`,
        request: minimalRequests[type],
        privateLocations: ['office'],
        ...fields,
      });

    it.each(types)('%s: passed, degraded and failed', async (checkType, path, field, asked) => {
      const checkId = await created(path, checkType);
      const agent = await connect(undefined, [checkType]);
      for (const [status, flags, ended] of outcomes) {
        const session = await triggerOne(checkId);
        expect(session).toMatchObject({ checkId, checkType, status: 'STARTED', runSource: 'TRIGGER_API' });
        const [job, ...others] = await agent.claim();
        if (job === undefined) throw new Error('no job');
        expect(others).toEqual([]);
        const { request } = job as unknown as { request: Fields }; // what the agent protocol has for these types
        expect({
          checkType: job.checkType,
          ...request,
          ...(request['sslConfig'] as Fields | undefined),
        }).toMatchObject({
          checkType,
          ...asked,
        });
        clock.advance(second);
        const { details, timings } = kinds[checkType] ?? {};
        await agent.report(resultOf(job, clock.now(), { status, ...flags, details, timings }));
        const done = await read(session);
        expect(done).toMatchObject({
          status: ended,
          inProgress: [],
          results: [{ checkId, checkType, ...flags }],
        });
        const link = String(done.results[0]?.['checkResultLink']).slice(bench.api.url.length);
        const { body } = await bench.api.call('GET', link);
        expect(body).toMatchObject({ status, checkType, [field]: expect.anything() as unknown });
        expect((await bench.api.call('GET', `/v1/check-statuses/${checkId}`)).body).toMatchObject({ status });
      }
    });

    it('a session that runs all three at once ends with its last result', async () => {
      const checkIds: string[] = [];
      for (const [checkType, path] of types) checkIds.push(await created(path, checkType));
      const agent = await connect(
        undefined,
        types.map(([type]) => type),
      );
      const sessions = await bench.trigger({ target: { checkId: checkIds } });
      expect(sessions.map(({ checkId }) => checkId).toSorted()).toEqual(checkIds.toSorted());
      const jobs = await agent.claim();
      expect(jobs.map(({ checkType }) => checkType).toSorted()).toEqual(['GRPC', 'SSL', 'TRACEROUTE']);
      clock.advance(second);
      for (const job of jobs) await agent.report(resultOf(job, clock.now()));
      const ended: Session[] = [];
      for (const session of sessions) ended.push(await read(session));
      expect(ended.map(({ status }) => status)).toEqual(['PASSED', 'PASSED', 'PASSED']);
    });

    it.each(types)('%s: a test session changes no status', async (checkType, path) => {
      const checkId = await created(path, checkType, { activated: false });
      const started = await bench.api.call<Fields & { testSessionId: string }>(
        'POST',
        '/v1/test-sessions/trigger',
        { body: { name: 'try', target: { checkId: [checkId], allowDeactivated: true } } },
      );
      expect(started.status).toBe(201);
      const agent = await connect(undefined, [checkType]);
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      expect(job).toMatchObject({ checkType, checkId });
      await agent.report(resultOf(job, clock.now(), { status: 'failed', hasFailures: true }));
      const session = await bench.api.call('GET', `/v1/test-sessions/${started.body.testSessionId}`);
      expect(session.body).toMatchObject({ status: 'FAILED' });
      expect((await bench.api.call('GET', `/v1/check-statuses/${checkId}`)).status).toBe(404);
    });
  });
});
