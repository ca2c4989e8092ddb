import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { scanBody } from '../../../src/service/http/body-shape.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** Bodies that would take seconds to parse or validate are refused before that. Counted, not timed. */

let service: TestService;
beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
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
  ['white space', `{"name":${megabytes(' ')}1}`, 413, 300_000],
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
  [' '.repeat(262_144), null],
  [' '.repeat(262_145), 'plain'],
])('%#', (text, problem) => {
  expect(scanBody(text).problem).toBe(problem);
});

test('the scan of long texts is linear, whatever their escapes', () => {
  for (const text of ['\\"', '\\\\', '\\u0061', 'x', '[']) {
    expect(scanBody(`{"script":"${megabytes(text)}"}`).turns).toBeLessThan(20);
  }
});
