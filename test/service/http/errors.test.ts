import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../../src/service/app.ts';
import { createBackground } from '../../../src/service/engine/background.ts';
import { badRequest } from '../../../src/service/http/errors.ts';
import { encryption, silent } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Every error has `statusCode`, `error`, `message` and `attributes`. Other tests look at each error's own texts. */

let service: TestService;
beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

const textAndReasons = { message: expect.any(String) as string, attributes: expect.any(Object) as object };

test.each([
  ['GET', '/v1/checks?limit=0', 400, 'Bad Request'],
  ['GET', '/v1/checks/%zz', 400, 'Bad Request'],
  ['GET', '/v1/checks/none', 404, 'Not Found'],
  ['GET', '/v1/nothing', 404, 'Not Found'],
  ['PATCH', '/v2/check-groups', 405, 'Method Not Allowed'],
])('%s %s: %i %s', async (method, path, statusCode, error) => {
  const { status, body } = await service.call(method, path);
  expect([status, body]).toEqual([statusCode, { statusCode, error, ...textAndReasons }]);
});

test('internal errors and answers of a stopping service have the same form', async () => {
  const db = {
    ...service.db,
    query: () => Promise.reject(new Error('the database is away')),
  };
  let isStopping = () => {};
  const stopping = new Promise<void>((resolve) => (isStopping = resolve));
  let mayStop = () => {};
  const stopped = new Promise<void>((resolve) => (mayStop = resolve));
  const app = await buildApp(
    { db, encryption, background: createBackground({ db, log: silent }), now: Date.now },
    {
      plugins: [
        (instance) => {
          instance.addHook('preClose', async () => {
            isStopping();
            await stopped;
          });
        },
      ],
    },
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const answerTo = async (path: string) => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: 'Bearer key_1' } });
    return [response.status, await response.json()];
  };
  expect(await answerTo('/v1/checks')).toEqual([
    500,
    { statusCode: 500, error: 'Internal Server Error', ...textAndReasons },
  ]);
  const unavailable = { statusCode: 503, error: 'Service Unavailable', ...textAndReasons };
  expect(await answerTo('/health')).toEqual([503, unavailable]);
  const closed = app.close();
  await stopping;
  expect(await answerTo('/v1/checks')).toEqual([503, unavailable]);
  mayStop();
  await closed;
});

describe('the message of a bad request', () => {
  test.each([
    [{ name: ['is required'] }, 'name is required.'],
    [{ name: ['is required'], url: ['is not a URL'] }, 'name is required (and 1 more; see attributes).'],
    [{ locations: ['Set one of both'], privateLocations: ['Set one of both'] }, 'Set one of both.'],
    [
      { locations: ['Set one of both'], privateLocations: ['Set one of both'], name: ['is required'] },
      'Set one of both (and 1 more; see attributes).',
    ],
    [{}, 'The request is not valid.'],
  ])('%j', (attributes, message) => {
    expect(badRequest(attributes).message).toBe(message);
  });
});
