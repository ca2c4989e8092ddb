import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { minuteMs } from '../../../src/durations.ts';
import { createNamedFiles, type NamedFiles } from '../../../src/service/artifacts/named-files.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { columnNames, type FileRow } from '../../../src/service/result-files/columns.ts';
import { pathOf, type ResultFile } from '../../../src/service/result-files/file-statements.ts';
import { createKeptColumns } from '../../../src/service/result-files/kept-columns.ts';
import { createOpenFiles, piecesOf } from '../../../src/service/result-files/open-file.ts';
import { readRows } from '../../../src/service/result-files/read-parquet.ts';
import { addStretches } from '../../../src/service/result-files/write-file.ts';
import { createParquetFile } from '../../../src/service/result-files/write-parquet.ts';
import { numbersFrom } from './numbers.ts';

/** A flipped bit of a file is always noticed, and columns that are kept in memory are the ones of the file. */

const day = new Date('2026-03-12T00:00:00.000Z');
const accountId = uuidv7(day.getTime());
const checkIds = [uuidv7(day.getTime()), uuidv7(day.getTime())].sort();

function rowOf(checkId: string, n: number): FileRow {
  const at = day.getTime() + n * minuteMs;
  return {
    id: uuidv7(at),
    check_id: checkId,
    started_at: at,
    stopped_at: at + 80,
    stored_at: at + 1000,
    job_id: n % 7 === 0 ? null : uuidv7(at),
    lease_token: null,
    sequence_id: uuidv7(at),
    check_type: 'URL',
    run_location: n % 2 === 0 ? 'eu-west-1' : 'us-east-1',
    result_type: 'FINAL',
    status: n % 9 === 0 ? 'failed' : 'passed',
    has_failures: n % 9 === 0,
    has_errors: false,
    is_degraded: false,
    over_max_response_time: n % 5 === 0,
    is_cancelled: false,
    response_time: 80 + n / 7,
    attempts: n % 3,
    reason: n % 9 === 0 ? '{"code":"HTTP_STATUS"}' : null,
    totals: null,
    assertions: n % 4 === 0 ? null : `[{"actual": ${n}}]`,
    timings: `{"total": ${n / 3}}`,
    details: `{"response": {"headers": {"x-request-id": "${n * 7919}"}}}`,
    artifacts: '[]',
    log: null,
    other: null,
    body_bytes: 300 + n,
    status_code: null,
  };
}

const rows = checkIds.flatMap((checkId) => Array.from({ length: 90 }, (_, n) => rowOf(checkId, 90 - n)));

let folder = '';
let files: NamedFiles;
let file: ResultFile;
let whole: Uint8Array;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'damage-'));
  files = createNamedFiles(folder);
  const written = createParquetFile(accountId);
  await written.add(rows);
  const { bytes, footerDigest } = await written.finish();
  file = { id: uuidv7(day.getTime()), accountId, day, rows: rows.length, bytes: bytes.length, footerDigest };
  await files.put(pathOf(file), bytes);
  whole = bytes;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** All that is read of the file through `stored`, as text. */
async function readAll(stored: NamedFiles): Promise<string> {
  const opened = await createOpenFiles(stored)(file);
  const read = [];
  const stretches: Parameters<typeof addStretches>[0] = [];
  addStretches(stretches, rows);
  for (const stretch of stretches) {
    for (const piece of piecesOf({ ...stretch, file }, opened)) {
      const wanted = Array.from({ length: piece.to - piece.from }, (_, n) => piece.from + n);
      read.push(await readRows(opened, { group: piece.group, rows: wanted, names: columnNames }));
    }
  }
  return JSON.stringify(read);
}

/** The store, with one bit of its file flipped. */
const flipped = (bit: number): NamedFiles => ({
  ...files,
  read: async (path, { start, end }) => {
    const bytes = new Uint8Array(await files.read(path, { start, end }));
    const at = (bit >> 3) - start;
    if (at >= 0 && at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
    return bytes;
  },
});

test('a flipped bit never gives other values, wherever it is', { timeout: 120_000 }, async () => {
  const right = await readAll(files);
  expect(right).toContain('"failed"');
  const random = numbersFrom(17);
  const bits = Array.from({ length: 1_500 }, () => Math.floor(random() * whole.length * 8));
  let noticed = 0;
  for (const bit of bits) {
    const read = await readAll(flipped(bit)).catch((error: unknown) => {
      expect(error).toBeInstanceOf(Error);
      noticed++;
      return right;
    });
    if (read !== right) expect.fail(`bit ${bit} of ${whole.length * 8} gives other values`);
  }
  // Only the first bytes, which are the same in every file, are not read.
  expect(noticed).toBeGreaterThan(bits.length * 0.99);
});

test('a column that was read is kept, until others take its place', async () => {
  let reads = 0;
  const counting: NamedFiles = {
    ...files,
    read: (path, range) => {
      reads++;
      return files.read(path, range);
    },
  };
  const opened = await createOpenFiles(counting)(file);
  const piece = { file: opened, group: 0 };
  // As much as two columns of the group.
  const kept = createKeptColumns(2 * rows.length);
  const footerReads = reads;
  const first = await kept(piece, ['started_at', 'status']);
  expect(Array.from(first.started_at ?? [])).toEqual(rows.map((row) => row.started_at));
  expect(await kept(piece, ['started_at', 'status'])).toEqual(first);
  expect(reads).toBe(footerReads + 1);
  await kept(piece, ['started_at', 'run_location']);
  expect(reads).toBe(footerReads + 2);
  // The status was used longest ago.
  await kept(piece, ['started_at', 'run_location']);
  expect(reads).toBe(footerReads + 2);
  expect(await kept(piece, ['status'])).toEqual({ status: first.status });
  expect(reads).toBe(footerReads + 3);
});
