import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { minimalBody } from './check-bodies.ts';

/** Locations that no agent serves: accepted, with a warning in the answer to the create or the change. */

let service: TestService;
beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
  for (const slugName of ['office', 'cellar']) {
    const body = { name: slugName, slugName };
    expect((await service.call('POST', '/v1/private-locations', { body })).status).toBe(201);
  }
  // An agent of the uptime image in the office.
  await service.db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, last_seen_at)
     select $1, id, 'a', '1.0.0', '{}', '{URL,TCP}', '{}', '{}', $2 from locations where slug_name = 'office'`,
    [uuidv7(), new Date(service.now())],
  );
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

const write = async (method: string, path: string, body: Fields) => {
  const answer = await service.call<Fields>(method, path, { body });
  expect([answer.status, answer.body['attributes']]).toEqual([method === 'POST' ? 201 : 200, undefined]);
  return answer.body;
};

test('names each location without an agent, and each whose agents do not run the type', async () => {
  const places = { locations: ['eu-west-1'], privateLocations: ['office', 'cellar'] };
  const url = await write('POST', '/v1/checks/url', minimalBody('URL', places));
  const nobody = [
    { field: 'locations.0', message: 'No agent serves eu-west-1: runs there are missed until one connects.' },
    {
      field: 'privateLocations.1',
      message: 'No agent serves cellar: runs there are missed until one connects.',
    },
  ];
  expect(url['warnings']).toEqual(nobody);
  const dns = await write(
    'POST',
    '/v1/checks/dns',
    minimalBody('DNS', { privateLocations: ['office'], locations: [] }),
  );
  expect(dns['warnings']).toEqual([
    {
      field: 'privateLocations.0',
      message: 'No agent that runs DNS checks serves office: runs there are missed until one connects.',
    },
  ]);

  // A change may repeat the answer; one that leaves only served places has no warnings.
  const path = `/v1/checks/url/${String(url['id'])}`;
  expect((await write('PUT', path, url))['warnings']).toEqual(nobody);
  const served = await write('PUT', path, { locations: [], privateLocations: ['office'] });
  expect(served).not.toHaveProperty('warnings');
  const read = await service.call<Fields>('GET', `/v1/checks/${String(dns['id'])}`);
  expect(read.body).not.toHaveProperty('warnings');
});

test('checks without locations have no warnings', async () => {
  const heartbeat = { name: 'Backup', heartbeat: { period: 1, periodUnit: 'hours' } };
  expect(await write('POST', '/v1/checks/heartbeat', heartbeat)).not.toHaveProperty('warnings');
});
