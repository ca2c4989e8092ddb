import { afterAll, beforeAll, expect } from 'vitest';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { TestDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

export type Result = Fields & { id: string };

/** The service's clock, in milliseconds. */
export const time = Date.parse('2026-03-05T12:00:00.000Z');
export const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

/** A result's body as an agent stores it. */
export const emptyBody = { assertions: [], timings: null, details: {}, artifacts: [], log: [] };

/** A service with partitions for results from 2026-03-03 to 2026-03-05. Registers the hooks that start and stop it. */
export function resultsBench(database: TestDatabase) {
  let service: TestService;

  beforeAll(async () => {
    const db = await database.open();
    service = await startTestService(db, { now: () => time });
    for (const [name, from, to] of [
      ['a', '2026-03-03', '2026-03-05'],
      ['b', '2026-03-05', '2026-03-06'],
    ]) {
      await db.exec(
        `create table results_test_${name} partition of check_results for values from ('${from}') to ('${to}')`,
      );
    }
  });
  afterAll(async () => {
    await service.close();
    await database.close();
  });

  async function createCheck(type = 'URL'): Promise<string> {
    const { body } = await service.call<{ id: string }>('POST', `/v1/checks/${type.toLowerCase()}`, {
      body: minimalBody(type as 'URL'),
    });
    return body.id;
  }

  /** Stores a result as an agent's report would; omitted fields are those of a passed run. */
  async function store(checkId: string, fields: Fields = {}): Promise<{ id: string; sequenceId: string }> {
    const startedAt = Number(fields['startedAt'] ?? time);
    const row = {
      checkType: 'URL',
      runLocation: 'eu-west-1',
      resultType: 'FINAL',
      status: 'passed',
      hasFailures: false,
      hasErrors: false,
      isDegraded: false,
      responseTime: 12.5,
      attempts: 0,
      reason: null,
      body: emptyBody,
      ...fields,
    };
    const id = uuidv7(startedAt);
    const sequenceId = uuidv7(startedAt);
    await service.db.query(
      `insert into check_results (id, started_at, stopped_at, stored_at, account_id, check_id, sequence_id, check_type,
         run_location, result_type, status, has_failures, has_errors, is_degraded, over_max_response_time,
         is_cancelled, response_time, attempts, reason, body)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, false, false, $15, $16, $17::jsonb, $18::jsonb)`,
      [
        id,
        new Date(startedAt),
        new Date(startedAt + 100),
        new Date(startedAt + 200),
        service.account.id,
        checkId,
        sequenceId,
        row.checkType,
        row.runLocation,
        row.resultType,
        row.status,
        row.hasFailures,
        row.hasErrors,
        row.isDegraded,
        row.responseTime,
        row.attempts,
        row.reason === null ? null : JSON.stringify(row.reason),
        JSON.stringify(row.body),
      ],
    );
    return { id, sequenceId };
  }
  const list = async (checkId: string, query = '') => {
    const { status, body } = await service.call<Result[]>('GET', `/v1/check-results/${checkId}${query}`);
    expect(status).toBe(200);
    return body;
  };

  return {
    get service() {
      return service;
    },
    createCheck,
    store,
    list,
  };
}
