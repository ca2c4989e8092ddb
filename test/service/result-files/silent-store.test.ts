import { describe, expect, test } from 'vitest';
import type { NamedFiles } from '../../../src/service/artifacts/named-files.ts';
import { StoreUnavailable } from '../../../src/service/artifacts/unavailable.ts';
import type { FiledResults, WantedResults } from '../../../src/service/db/filed-results.ts';
import { queryResults, withFiledResults } from '../../../src/service/db/query-results.ts';
import { createFiledResults } from '../../../src/service/result-files/read-results.ts';
import { silent } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { filesBench, minutes, oldDay } from './files-bench.ts';

/** A store of files with results that never answers does not hold transactions. */

describe.skipIf(anyDatabase.unavailable)('a silent store of files with results', () => {
  const bench = filesBench(anyDatabase);
  const wantedOf = (checkId: string, more: Partial<WantedResults> = {}): WantedResults => ({
    checkIds: [checkId],
    spans: [{ from: new Date(oldDay), to: null }],
    columns: ['started_at'],
    ...more,
  });

  test('statements in a transaction have a short limit, and others have not', async () => {
    const limits: (number | undefined)[] = [];
    const recorded: FiledResults = {
      read: async (_db, { withinMs }) => {
        limits.push(withinMs);
        return { count: 0, columns: [], version: '' };
      },
      isCurrent: async () => true,
    };
    const db = withFiledResults(bench.plain, recorded);
    const wanted = wantedOf('01890000-0000-7000-8000-000000000001');
    await queryResults(db, wanted, 'select 1', []);
    await db.tx((tx) => queryResults(tx, wanted, 'select 1', []));
    await db.tx((tx) => queryResults(tx, { ...wanted, withinMs: 7 }, 'select 1', []));
    expect(limits).toEqual([undefined, expect.any(Number), 7]);
    expect(limits[1]).toBeLessThanOrEqual(5_000);
  });

  test('a statement gets its answer without the files, or an error, and no file counts as damaged', async () => {
    const checkId = await bench.create('URL');
    await bench.store(checkId, minutes(130));
    expect(await bench.move()).toBe(130);
    const signals: AbortSignal[] = [];
    const files: NamedFiles = {
      ...bench.files,
      read: (_path, { signal }) =>
        new Promise((_resolve, reject) => {
          if (signal === undefined) return;
          signals.push(signal);
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    };
    const { read } = createFiledResults({ files, now: bench.clock.now, log: silent });
    const wanted = wantedOf(checkId, { withinMs: 30 });
    await expect(read(bench.plain, wanted)).rejects.toThrow(StoreUnavailable);
    await expect(read(bench.plain, { ...wanted, leaveOut: 'damaged' })).rejects.toThrow(StoreUnavailable);
    expect(await read(bench.plain, { ...wanted, leaveOut: 'any' })).toMatchObject({ count: 0 });
    expect(signals.length).toBeGreaterThan(2);
    expect(await bench.unreadable()).toBe(0);
  });
});
