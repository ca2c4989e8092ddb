import { afterAll, beforeAll, expect } from 'vitest';
import type { ProbeType } from '../../../src/protocol/check-types.ts';
import type { TestDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { addShopService, minimalBody, withoutWarnings } from './check-bodies.ts';

export type Check = Fields & { id: string };

export const start = Date.parse('2026-03-04T05:06:07.000Z');

/**
 * A service with the private location `office`, whose clock is at `time`. Registers the hooks that start and stop it.
 */
export function checksBench(database: TestDatabase) {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService(await database.open(), { now: () => bench.time });
    const office = { name: 'Office', slugName: 'office' };
    expect((await service.call('POST', '/v1/private-locations', { body: office })).status).toBe(201);
    await addShopService(service);
  });
  afterAll(async () => {
    await service.close();
    await database.close();
  });

  const bench = {
    get service() {
      return service;
    },
    /** The service's clock, in milliseconds. */
    time: start,
    async create(type: ProbeType, fields: Fields = {}): Promise<Check> {
      const { status, body } = await service.call<Check>('POST', `/v1/checks/${type.toLowerCase()}`, {
        body: minimalBody(type, fields),
      });
      expect([status, body]).toEqual([201, expect.objectContaining({ checkType: type })]);
      return withoutWarnings(body);
    },
    async change(check: Check, body: Fields) {
      const path = `/v1/checks/${String(check['checkType']).toLowerCase()}/${check.id}`;
      const answer = await service.call<Check>('PUT', path, { body });
      return { ...answer, body: withoutWarnings(answer.body) };
    },
  };
  return bench;
}
