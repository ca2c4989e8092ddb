import { afterAll, beforeAll, expect } from 'vitest';
import type { CheckType } from '../../../src/protocol/check-types.ts';
import { createRollupLoop, handleRollups } from '../../../src/service/analytics/rollup-work.ts';
import { serviceCheckTypes } from '../../../src/service/checks/types/table.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import { addCheck, createClock, silent } from './agent-service.ts';
import type { TestDatabase } from './database.ts';
import { startTestService, type Fields, type TestService } from './service.ts';
import { storeRuns, type Run } from './stored-results.ts';

type Point = { timestamp: string; [metric: string]: number | string | null };
/** The body of `GET /v1/analytics/<type>/<check>`. */
export type Answer = Fields & {
  checkId: string;
  series: { runLocation?: string; statusCode?: number | null; pageIndex?: number | null; data: Point[] }[];
  metadata: { [metric: string]: object };
};

/** The service's clock, in milliseconds. */
export const start = Date.parse('2026-03-05T12:34:56.000Z');

/** A service with stored results, and rollups that the tests trigger. Registers the hooks that start and stop it. */
export function analyticsBench(database: TestDatabase) {
  const clock = createClock(start);
  let service: TestService;
  let background: Background;

  beforeAll(async () => {
    const db = await database.open();
    background = createBackground({ db, log: silent });
    handleRollups({ db, background, now: clock.now, log: silent });
    await background.prepare();
    service = await startTestService(db, { now: clock.now, background });
  });
  afterAll(async () => {
    await service.close();
    await background.stop();
    await database.close();
  });

  const create = (checkType: CheckType, options: { tags?: string[]; activated?: boolean } = {}) =>
    addCheck(service.db, { accountId: service.account.id, checkType, now: start, ...options });
  const store = (checkId: string, checkType: CheckType, runs: readonly Run[]) =>
    storeRuns(
      service.db,
      { accountId: service.account.id, checkId },
      runs.map((run) => ({ checkType, ...run })),
    );
  async function figures(checkType: CheckType, checkId: string, query: string): Promise<Answer> {
    const path = `/v1/analytics/${serviceCheckTypes[checkType].analyticsPaths[0]}/${checkId}?${query}`;
    const { status, body } = await service.call<Answer>('GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  }
  async function rollUp(): Promise<void> {
    await createRollupLoop({ db: service.db, background, now: clock.now, log: silent }).tick();
    await background.tick();
  }

  return {
    get service() {
      return service;
    },
    create,
    store,
    figures,
    rollUp,
  };
}
