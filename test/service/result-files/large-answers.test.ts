import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { measuredColumns } from '../../../src/service/analytics/measured-columns.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createOpenFiles } from '../../../src/service/result-files/open-file.ts';
import { readRows } from '../../../src/service/result-files/read-parquet.ts';
import { createFiledResults } from '../../../src/service/result-files/read-results.ts';
import { silent } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { filesBench, minutes, oldDay } from './files-bench.ts';

/** Answers from files take a limited amount of memory, also if the bodies of the results are large. */

describe.skipIf(anyDatabase.unavailable)('large answers', { timeout: 60_000 }, () => {
  const bench = filesBench(anyDatabase);

  test('analytics of API checks read the status code, and not the details', async () => {
    const checkId = await bench.create('API');
    const codes: unknown[] = [200, 301, 503, '200', 20, null, 200.5];
    await bench.store(
      checkId,
      minutes(140).map((run, n) => ({
        ...run,
        checkType: 'API',
        timings: { dns: 1.5 + n, total: 12 },
        details: { response: { status: codes[n % codes.length], body: 'a large body' } },
      })),
    );
    const from = `from=${oldDay / 1000 + 60}&to=${oldDay / 1000 + 8_000}`;
    const analytics = `/v1/analytics/api-checks/${checkId}?${from}&groupBy=statusCode`;
    const ask = async () => [
      await bench.answer(`${analytics}&metrics=availability,dns_avg&aggregationInterval=7`),
      await bench.answer(`${analytics}&metrics=dns&limit=100`),
    ];
    const before = await ask();
    expect(before.join()).toMatch(/"statusCode":"?503/);
    expect(await bench.move()).toBe(140);
    const { read } = createFiledResults({ files: bench.files, now: bench.clock.now, log: silent });
    const part = await read(bench.plain, {
      checkIds: [checkId],
      spans: [{ from: new Date(oldDay), to: null }],
      columns: measuredColumns('API', ['dns', 'retries']),
    });
    const texts = part.columns.map(({ text }) => text).join();
    expect(texts).toContain('503');
    expect(texts).not.toContain('a large body');
    expect(await ask()).toEqual(before);
  });

  test('a statement that needs too much is refused before it takes all memory', async () => {
    await bench.service.renewAccounts();
    await bench.lookAgain();
    const checkId = await bench.create('API');
    await bench.store(checkId, minutes(130));
    const base = uuidv7(oldDay);
    const body = JSON.stringify({ details: { response: { status: 200, body: 'x'.repeat(600_000) } } });
    await bench.plain.query('insert into result_bases (id, started_at, body) values ($1, $2, $3)', [
      base,
      new Date(oldDay),
      body,
    ]);
    await bench.plain.query('update check_results set base_id = $2 where check_id = $1', [checkId, base]);
    await bench.plain.query(`update check_results set body = '{}' where check_id = $1`, [checkId]);
    expect(await bench.move()).toBe(130);
    const { read } = createFiledResults({ files: bench.files, now: bench.clock.now, log: silent });
    const wanted = { checkIds: [checkId], spans: [{ from: new Date(oldDay), to: null }] };
    const columns = ['started_at', 'details'] as const;
    await expect(read(bench.plain, { ...wanted, columns })).rejects.toMatchObject({
      statusCode: 400,
      message: expect.stringContaining('Ask for a shorter time') as string,
    });
    const first = { limit: 10, order: 'newest' } as const;
    expect(await read(bench.plain, { ...wanted, columns, first })).toMatchObject({ count: 10 });
  });
});

test('files of earlier releases have no column for the status code', async () => {
  const name = 'without-status-code.parquet';
  const bytes = await readFile(join(import.meta.dirname, '../../fixtures/result-files', name));
  const open = createOpenFiles({
    read: async (_path, { start, end }) => bytes.subarray(start, end),
    put: () => Promise.reject(new Error('not written')),
    list: () => {
      throw new Error('not listed');
    },
    remove: () => Promise.reject(new Error('not removed')),
  });
  const file = await open({
    id: uuidv7(),
    accountId: '01890000-0000-7000-8000-000000000001',
    day: new Date('2026-03-12T00:00:00.000Z'),
    rows: 3,
    bytes: bytes.length,
    footerDigest: '3447e720e792c2281cd465184f6a478f968768fe369bddd53b542f505712ff2d',
  });
  const wanted = { group: 0, rows: [0, 1, 2] };
  expect(await readRows(file, { ...wanted, names: ['status', 'status_code'] })).toEqual({
    status: ['failed', 'passed', 'passed'],
    status_code: [404, null, 200],
  });
  const both = await readRows(file, { ...wanted, names: ['details', 'status_code'] });
  expect(both.status_code).toEqual([404, null, 200]);
  expect(both.details?.[0]).toContain('"status":404');
});
