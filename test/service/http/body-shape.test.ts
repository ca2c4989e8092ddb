import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { scanBody } from '../../../src/service/http/body-shape.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Bodies that would take seconds to parse or validate are refused before that. Counted, not timed. */

let db: Db;
let service: TestService;
beforeAll(async () => {
  db = await anyDatabase.open();
  service = await startTestService(db);
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

const megabytes = (text: string, of = 3.8) => text.repeat(Math.floor((of * 1e6) / text.length));
const list = (item: string) => `{"tags":[${megabytes(`${item},`)}${item}]}`;

/** Bodies of about 4 MB, the status that they get, and the steps of the scan that this takes at most. */
const bodies: readonly (readonly [what: string, body: string, status: number, turns: number])[] = [
  ['a list of numbers', list('1'), 400, 85_000],
  ['a list of empty objects', list('{}'), 400, 85_000],
  ['nested lists', `${'['.repeat(1_900_000)}${']'.repeat(1_900_000)}`, 400, 22],
  ['nested objects', `${'{"a":'.repeat(600_000)}1${'}'.repeat(600_000)}`, 400, 100],
  ['short texts', list(`"${'x'.repeat(200)}"`), 413, 300_000],
  ['field names', `{${megabytes(`"${'k'.repeat(190)}":1,`)}"name":1}`, 413, 300_000],
  ['texts of a thousand characters', list(`"${'x'.repeat(1000)}"`), 413, 1_000],
];

test.each(bodies)('%s of 4 MB are refused before they are parsed', async (_what, body, status, turns) => {
  expect(scanBody(body).turns).toBeLessThanOrEqual(turns);
  const parse = vi.spyOn(JSON, 'parse');
  try {
    const answer = await service.call('POST', '/v1/checks/api', { body });
    expect(answer.status).toBe(status);
    expect(answer.body['attributes']).toEqual({ body: [expect.stringMatching(/^must /)] });
    expect(parse.mock.calls.filter(([text]) => String(text).length > 100_000)).toEqual([]);
  } finally {
    parse.mockRestore();
  }
});

test('white space does not count: indented bodies pass like the same bodies without it', async () => {
  const groups = await db.query<{ groupId: number }>(
    `insert into check_groups (account_id, name, definition) select $1, 'Shop', '{}' from generate_series(1, 2000)
     returning id::float8 as "groupId"`,
    [service.account.id],
  );
  const channel = {
    type: 'SMS',
    config: { number: '+31612345678' },
    subscriptions: groups.map(({ groupId }) => ({ groupId, activated: true })),
  };
  const answers = [undefined, 10].map(async (spaces) => {
    const body = JSON.stringify(channel, null, spaces);
    expect(body.length > 256 * 1024).toBe(spaces !== undefined);
    return (await service.call('POST', '/v1/alert-channels', { body })).status;
  });
  expect(await Promise.all(answers)).toEqual([201, 201]);
});

test('white space costs the scan no steps, in a body that is invalid too', async () => {
  for (const text of [' ', '\n', '\r\n\t ']) {
    const body = `{"name":${megabytes(text)}`;
    expect(scanBody(body)).toEqual({ problem: null, turns: 4 });
    expect((await service.call('POST', '/v1/checks/api', { body })).status).toBe(400);
  }
  expect(scanBody(`[${`${' '.repeat(10)}1,`.repeat(300_000)}`).turns).toBeLessThan(120_000);
  expect(scanBody(megabytes(' 1')).problem).toBe('plain');
});

test('a body whose size is a script is parsed', async () => {
  const script = `// ${'x'.repeat(1_000_000)}\n// "quoted" \\ and 'more'`;
  const created = await service.call('POST', '/v1/snippets', { body: { name: 'large', script } });
  expect([created.status, created.body['script']]).toEqual([201, script]);
});

test.each<[text: string, problem: string | null]>([
  ['', null],
  ['{}', null],
  ['"', null],
  ['"\\"', null],
  [`"${'\\'.repeat(300_001)}`, null],
  [`{"a":"${'\\"[{'.repeat(200_000)}"}`, null],
  [`["${'\\\\'.repeat(100_000)}",${'['.repeat(21)}`, 'deep'],
  ['['.repeat(21), null],
  ['['.repeat(22), 'deep'],
  [`[${'[],'.repeat(30_000)}[]]`, 'values'],
  [`[${'1,'.repeat(19_998)}1]`, null],
  ['1'.repeat(262_144), null],
  [`${'1 '.repeat(262_144)} `, null],
  [' 1'.repeat(262_145), 'plain'],
])('%#', (text, problem) => {
  expect(scanBody(text).problem).toBe(problem);
});

test('the scan of long texts is linear, whatever their escapes', () => {
  for (const text of ['\\"', '\\\\', '\\u0061', 'x', '[']) {
    expect(scanBody(`{"script":"${megabytes(text)}"}`).turns).toBeLessThan(20);
  }
});
