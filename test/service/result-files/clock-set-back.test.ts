import { describe, expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../src/durations.ts';
import { createMayBeFiled } from '../../../src/service/result-files/newest-filed.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { filesBench, minutes, start } from './files-bench.ts';

/** The service's clock was ahead for a while: results of today are in files, and answers have them. */

describe.skipIf(anyDatabase.unavailable)('a clock that was ahead', () => {
  const bench = filesBench(anyDatabase);
  const statements: string[] = [];
  const watched = () => ({
    query: <Row>(sql: string, params?: readonly unknown[]) => {
      statements.push(sql);
      return bench.plain.query<Row>(sql, params);
    },
  });
  const wanted = {
    checkIds: [],
    spans: [{ from: new Date(start - 3 * hourMs), to: null }],
    columns: [],
  };

  test('statements on the results of today do not look for files each time', async () => {
    const mayBeFiled = createMayBeFiled(bench.clock.now);
    expect(await mayBeFiled(watched(), wanted)).toBe(false);
    expect(await mayBeFiled(watched(), wanted)).toBe(false);
    expect(statements).toHaveLength(1);
    expect(await mayBeFiled(watched(), { ...wanted, spans: [{ from: null, to: null }] })).toBe(true);
    expect(statements).toHaveLength(1);
    bench.clock.advance(minuteMs);
    expect(await mayBeFiled(watched(), wanted)).toBe(false);
    expect(statements).toHaveLength(2);
  });

  test('results that have moved meanwhile are in lists', async () => {
    const checkId = await bench.create('URL');
    await bench.store(checkId, minutes(120, start - 2 * hourMs));
    const list = () => bench.answer(`/v2/check-results/${checkId}?limit=100&from=${start / 1000 - 3 * 3600}`);
    const before = await list();
    expect(before).toContain('"length":100');
    bench.clock.set(start + 4 * dayMs);
    expect(await bench.move()).toBe(120);
    bench.clock.set(start);
    expect(await list()).toBe(before);
  });
});
