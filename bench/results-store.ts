import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { createLog } from '../src/log.ts';
import { dayMs } from '../src/durations.ts';
import { Secret } from '../src/secrets/secret.ts';
import { createRollupLoop, handleRollups } from '../src/service/analytics/rollup-work.ts';
import { buildApp } from '../src/service/app.ts';
import { createNamedFiles } from '../src/service/artifacts/named-files.ts';
import type { Db } from '../src/service/db/database.ts';
import { migrate } from '../src/service/db/migrate.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { withFiledResults } from '../src/service/db/query-results.ts';
import { createBackground, type Background } from '../src/service/engine/background.ts';
import { createEncryption } from '../src/service/engine/encryption.ts';
import { createVacuum } from '../src/service/engine/vacuum.ts';
import { moveOldResults } from '../src/service/result-files/move-results.ts';
import { createFiledResults } from '../src/service/result-files/read-results.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { fillMonth, key } from './lib/filed-month.ts';
import { report, treeCpuMs } from './lib/processes.ts';

/**
 * 30 days of one check (43,200 results, one a minute) among others, in files: answers of analytics and of lists over HTTP, on
 * the embedded database and on a PostgreSQL server; what moving costs; bytes of a result. Analytics of whole hours come from
 * the hourly figures; the others read all results of the month. Options: `embedded` or `server` (only this database), `keep`
 * (the files).
 */
const limits = { analytics: 200, page: 100, bytes: 200 };
const rounds = 9;
const days = 30;
const checks = 2;
const log = createLog({ level: 'WARN', scrub: (line) => line });
const shown = (value = 0) => Number(value.toFixed(1));

type Question = [name: string, limit: number, path: string];
type Figures = {
  bytesPerResult: number;
  /** Processor time of this process for a thousand results: all of it on the embedded database. */
  moveMsPerThousand: number;
  /** From the table, and after the move. */
  before: Record<string, Answer>;
  answers: Record<string, Answer>;
};

/** `processor`: milliseconds of processor time for an answer, on the average, of this process and the server of the database. */
type Answer = { median: number; slowest: number; processor: number };

function questionsOf(checkId: string, { now, resultId }: { now: number; resultId: string }): Question[] {
  const month = `/v1/analytics/url-checks/${checkId}?quickRange=last30Days`;
  const list = `/v2/check-results/${checkId}?limit=100`;
  const at = (daysAgo: number) => Math.floor((now - daysAgo * dayMs) / 1000);
  const [analytics, page] = [limits.analytics, limits.page];
  return [
    ['analytics, whole', analytics, `${month}&metrics=availability,responseTime_p50,responseTime_p99`],
    ['analytics, by day', analytics, `${month}&metrics=responseTime_p99&aggregationInterval=1440&limit=100`],
    [
      'analytics, 45 minutes',
      analytics,
      `${month}&metrics=availability,responseTime_avg&aggregationInterval=45&limit=100`,
    ],
    [
      'analytics, 45 minutes, p99',
      analytics,
      `${month}&metrics=responseTime_p99&aggregationInterval=45&limit=100`,
    ],
    ['analytics, single values', analytics, `${month}&metrics=responseTime&limit=100`],
    ['timeline', analytics, `/v1/checks/${checkId}/timeline?quickRange=last30Days`],
    ['page, first', page, `${list}&to=${at(3)}`],
    ['page, in the middle', page, `${list}&to=${at(15)}`],
    ['page, failed ones', page, `${list}&to=${at(3)}&hasFailures=true`],
    ['page, retried ones (none)', page, `${list}&to=${at(3)}&resultType=ATTEMPT`],
    ['one result', page, `/v1/check-results/${checkId}/${resultId}`],
  ];
}

/** Processor time so far, in milliseconds, of this process and of a database server with its children. */
function processorMs(server: number | null): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + (server === null ? 0 : treeCpuMs(server));
}

/** `server`: the process of the database server; null = the embedded database. */
async function run(
  database: Db,
  { folder, server }: { folder: string; server: number | null },
): Promise<Figures> {
  await migrate(database);
  const now = Date.now();
  const files = createNamedFiles(folder);
  const db = withFiledResults(database, createFiledResults({ files, now: () => now, log }));
  const { checkIds, first } = await fillMonth(database, { now, days, checks });
  const [checkId = ''] = checkIds;
  const background = createBackground({ db, log });
  handleRollups({ db, background, now: () => now, log });
  await background.prepare();
  await createRollupLoop({ db, background, now: () => now, log }).tick();
  await background.tick();
  const [some] = await database.query<{ id: string }>(
    'select id from check_results where check_id = $1 and started_at > $2 order by started_at limit 1',
    [checkId, new Date(first + 10.5 * dayMs)],
  );
  if (db.kind === 'embedded') await createVacuum({ db, log }).tick();
  const questions = questionsOf(checkId, { now, resultId: some?.id ?? '' });
  const before = await answersOf(db, { questions, background, now, server, from: 'table' });
  const began = process.cpuUsage();
  const moved = await moveOldResults(
    { db: database, files, now: () => now, log, afterDays: 1 },
    new AbortController().signal,
  );
  const { user, system } = process.cpuUsage(began);
  const [sizes] = await database.query<{ bytes: number; rows: number }>(
    'select sum(bytes)::float8 as bytes, sum(rows)::float8 as rows from result_files',
  );
  if (moved === 0 || sizes?.rows !== moved)
    throw new Error(`${moved} results moved, ${sizes?.rows} in files`);
  const answers = await answersOf(db, { questions, background, now, server, from: 'files' });
  await background.stop();
  const bytesPerResult = shown(sizes.bytes / sizes.rows);
  const moveMsPerThousand = shown((user + system) / moved);
  console.log(
    `${db.kind.padEnd(9)} ${moved} results moved, ${moveMsPerThousand} ms of processor time per thousand; ${bytesPerResult} bytes per result`,
  );
  return { bytesPerResult, moveMsPerThousand, before, answers };
}

async function answersOf(
  db: Db,
  {
    questions,
    background,
    now,
    server,
    from,
  }: {
    questions: readonly Question[];
    background: Background;
    now: number;
    server: number | null;
    from: 'table' | 'files';
  },
): Promise<Figures['answers']> {
  const app = await buildApp({ db, encryption: createEncryption('bench'), now: () => now, background });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`; // it listens on TCP
  const answers: Figures['answers'] = {};
  for (const [name, , path] of questions) {
    const times: number[] = [];
    let began = processorMs(server);
    for (let round = 0; round <= rounds; round++) {
      const started = performance.now();
      const answer = await fetch(base + path, { headers: { authorization: `Bearer ${key}` } });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
      // The first answer reads the ends of the files.
      if (round > 0) times.push(performance.now() - started);
      else began = processorMs(server);
    }
    times.sort((a, b) => a - b);
    const processor = shown((processorMs(server) - began) / rounds);
    const figures = { median: shown(times[rounds >> 1]), slowest: shown(times.at(-1)), processor };
    answers[name] = figures;
    console.log(
      `${db.kind.padEnd(9)} ${from} ${name.padEnd(27)} median ${figures.median} ms, slowest ${figures.slowest} ms, processor ${processor} ms`,
    );
  }
  await app.close();
  return answers;
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const figures: { [kind: string]: Figures } = {};
  const options = process.argv.slice(2);
  const isAsked = (kind: string) =>
    options.includes(kind) || !(options.includes('embedded') || options.includes('server'));
  if (isAsked('embedded')) {
    const embedded = await openDatabase({ databaseUrl: null, dataDir: join(dataDir, 'database') });
    figures['embedded'] = await run(embedded, { folder: join(dataDir, 'embedded'), server: null });
    await embedded.close();
  }
  const binaries = await postgresBinaries();
  if (!isAsked('server')) console.log('server: not asked for');
  else if (binaries === null || !existsSync(binaries)) {
    console.log('server: not measured, because PostgreSQL is not installed');
  } else {
    const postgres = await startPostgres(binaries);
    const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
    figures['server'] = await run(db, { folder: join(dataDir, 'server'), server: postgres.pid() });
    await db.close();
    await postgres.stop();
  }
  if (options.includes('keep')) console.log(`the files are in ${dataDir}`);
  else await rm(dataDir, { recursive: true });
  const limitOf = new Map(questionsOf('', { now: 0, resultId: '' }).map(([name, limit]) => [name, limit]));
  const all = Object.values(figures);
  const ratios = [
    ...all.map(({ bytesPerResult }) => bytesPerResult / limits.bytes),
    ...all.flatMap(({ answers }) =>
      Object.entries(answers).map(([name, { median }]) => median / (limitOf.get(name) ?? 0)),
    ),
  ];
  const ratio = Number(Math.max(...ratios).toFixed(2));
  report({ name: 'results-store', unit: 'ratio', ours: ratio, peer: null, limit: 1, ratio, figures });
  process.exitCode = ratio <= 1 ? 0 : 1;
}

await main();
