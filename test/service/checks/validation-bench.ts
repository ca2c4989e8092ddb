import { afterAll, beforeAll, expect } from 'vitest';
import type { ProbeType } from '../../../src/protocol/check-types.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { addShopService, minimalBody, minimalRequests } from './check-bodies.ts';

/** The fields of a check whose request is the smallest one of the type, with `fields`. */
export const request = (type: ProbeType, fields: Fields) => ({
  request: { ...minimalRequests[type], ...fields },
});
export const text = (length: number) => 'x'.repeat(length);

/**
 * A service with the private location `office`. Validation does not depend on the database, so one is enough. Registers the
 * hooks that start and stop it.
 */
export function validationBench() {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService(await anyDatabase.open());
    const office = { name: 'Office', slugName: 'office' };
    expect((await service.call('POST', '/v1/private-locations', { body: office })).status).toBe(201);
    await addShopService(service);
  });
  afterAll(async () => {
    await service.close();
    await anyDatabase.close();
  });

  return {
    get service() {
      return service;
    },
    /** Creates a check; returns `accepted`, or the `attributes` of the refusal. */
    async attributesOf(type: ProbeType, fields: Fields): Promise<unknown> {
      const { status, body } = await service.call('POST', `/v1/checks/${type.toLowerCase()}`, {
        body: minimalBody(type, fields),
      });
      return status === 201 ? 'accepted' : body['attributes'];
    },
  };
}
