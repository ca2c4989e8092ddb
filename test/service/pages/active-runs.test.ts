import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { encryption } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** Routes that the page of a check needs: its active runs, and the totals of a suite's last runs. */

let db: Db;
let api: TestService;
let checkId = '';
beforeAll(async () => {
  db = await anyDatabase.open();
  api = await startTestService(db, { encryption });
  const accountId = api.account.id;
  checkId = await addUrlCheck();
  await storeRuns(db, { accountId, checkId }, [{ at: Date.now() - 60_000 }, { at: Date.now() }]);
});
const addUrlCheck = async () =>
  (
    await api.call<{ id: string }>('POST', '/v1/checks/url', {
      body: {
        name: 'check shop',
        locations: ['eu-west-1'],
        request: { url: 'https://shop.example/' },
      },
    })
  ).body.id;
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
});

type Answer = { runs: { [name: string]: unknown }[] };

it('lists a requested run that waits for an agent, and nothing to other accounts', async () => {
  const path = `/v1/checks/${checkId}/active-runs`;
  expect((await api.call<Answer>('GET', path)).body).toEqual({ runs: [] });
  const started = await api.call('POST', '/v1/check-sessions/trigger', {
    body: { target: { checkId: [checkId] } },
  });
  expect(started.status).toBe(201);
  const { body } = await api.call<Answer>('GET', path);
  expect(body.runs).toEqual([
    {
      sequenceId: expect.any(String),
      runLocation: 'eu-west-1',
      isScheduled: false,
      state: 'waiting',
      stage: null,
      elapsedMs: expect.any(Number),
      cancelRequested: false,
      cancelPath: null,
      log: [],
    },
  ]);
  expect((await api.call('GET', path, { key: api.foreign.key })).status).toBe(404);
});

it('lists the last runs with their totals, newest first', async () => {
  const { body } = await api.call<Answer>('GET', `/v1/checks/${checkId}/suite-runs?limit=1`);
  expect(body.runs).toMatchObject([{ status: 'passed', runLocation: 'eu-west-1', totals: null }]);
});
