import { fastify, type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runsOfSession } from '../../../src/service/sessions/statements.ts';
import { endSessionRuns } from '../../../src/service/scheduling/session-runs.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createSessionWaiting } from '../../../src/service/sessions/waiting.ts';
import { startSessions } from '../../../src/service/sessions/sessions.ts';
import { addAccount, addCheck, addLocation } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** What a long poll for the end of a session costs. */

describe.each(databases)('waiting for a session: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let db: Db;
    let app: FastifyInstance;
    beforeAll(async () => {
      db = await database.open();
      app = fastify({ forceCloseConnections: true });
    });
    afterAll(async () => {
      await app.close();
      await database.close();
    });

    /** A session of runs in these many locations. */
    async function startSession(locations: number) {
      const now = Date.now();
      const accountId = await addAccount(db);
      const checkId = await addCheck(db, { accountId, now });
      const places = [];
      for (let n = 0; n < locations; n++)
        places.push(await addLocation(db, { accountId, slug: `office-${n}` }));
      const check = {
        id: checkId,
        checkType: 'URL',
        name: 'Page',
        runtimeId: null,
        runParallel: true,
        rotation: 0,
        slugs: [],
        tags: [],
      };
      const session = {
        id: uuidv7(now),
        accountId,
        kind: 'check' as const,
        checkId,
        name: 'Page',
        runSource: 'TRIGGER_API',
        refreshCache: false,
        metadata: null,
        environmentVariables: null,
      };
      const deps = { db, now: Date.now };
      const [started] = await startSessions(deps, [{ session, planned: [{ check, places }] }]);
      if (started === undefined) throw new Error('not started');
      return started;
    }

    it('reads the session at the start and at the end, not after each run', async () => {
      const { session, runs } = await startSession(20);
      const waiting = createSessionWaiting(app, db);
      let reads = 0;
      app.get('/', async (request, reply) => {
        const found = await waiting.untilOver(request, {
          id: session.id,
          maxWaitMs: 20_000,
          read: async () => {
            const read = { session, runs: await runsOfSession(db, session.id) };
            reads += 1;
            return read;
          },
        });
        return reply.send({ over: found !== null });
      });
      const url = await app.listen({ host: '127.0.0.1', port: 0 });
      const answer = fetch(url).then((response) => response.json());
      await vi.waitFor(() => expect(reads).toBe(1), { timeout: 10_000 });
      const end = ({ jobId }: { jobId: string }) =>
        db.tx(async (tx) => {
          await tx.query('delete from jobs where id = $1', [jobId]);
          await endSessionRuns(tx, [{ jobId, status: 'passed' }], new Date());
        });
      for (const run of runs.slice(1)) await end(run);
      expect(reads).toBe(1);
      for (const run of runs.slice(0, 1)) await end(run);
      expect([await answer, reads]).toEqual([{ over: true }, 2]);
    });
  });
});
