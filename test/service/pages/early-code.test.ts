import { afterAll, beforeAll, expect, test } from 'vitest';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** The documents of the pages that people open most name all code of their page, so that browsers load it at once. */

const [database] = databases.filter(({ unavailable }) => unavailable === null);
let service: TestService;

beforeAll(async () => {
  if (database === undefined) throw new Error('there is no database');
  service = await startTestService(await database.open());
});
afterAll(async () => {
  await service.close();
  await database?.close();
});

const id = '0198c0de-0000-7000-8000-000000000001';
const early = async (path: string) => {
  const headers = { cookie: 'session=any' };
  const html = await (await fetch(new URL(path, service.url), { headers })).text();
  return [...html.matchAll(/<link rel="modulepreload" href="([^"]+)"/g)].map(([, href = '']) => href);
};

test('check, run and home load more code early than the other pages, and each file exists', async () => {
  const usual = await early('/alerts');
  expect(await early('/checks/new')).toEqual(usual);
  for (const path of ['/', `/checks/${id}`, `/checks/${id}/runs/${id}`]) {
    const files = await early(path);
    expect(files.length).toBeGreaterThan(usual.length);
    expect(files).toEqual(expect.arrayContaining(usual));
    for (const file of files)
      expect([file, (await fetch(new URL(file, service.url))).status]).toEqual([file, 200]);
  }
});
