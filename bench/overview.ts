import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { createLog } from '../src/log.ts';
import { Secret } from '../src/secrets/secret.ts';
import { buildApp } from '../src/service/app.ts';
import { createBackground } from '../src/service/engine/background.ts';
import { migrate } from '../src/service/db/migrate.ts';
import type { Db } from '../src/service/db/database.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { createEncryption } from '../src/service/engine/encryption.ts';
import { createVacuum } from '../src/service/engine/vacuum.ts';
import { postgresBinaries, startPostgres } from '../test/helpers/service/postgres.ts';
import { hourMs } from '../src/durations.ts';
import { fillAccount } from './lib/overview-account.ts';

/**
 * The overview of 10,000 checks that run every 10 minutes: processor time of this process for one page of 100, by state and by
 * p95. On the embedded database that includes the statements. Results older than three hours are there as rollups only.
 */
const limits = { state: 40, p95: 300 };
const rounds = 15;
const checks = 10_000;
const log = createLog({ level: 'WARN', scrub: (line) => line });

type Cost = { cpu: number; wall: number };

async function run(db: Db): Promise<Record<string, Cost>> {
  await migrate(db);
  const now = Math.floor(Date.now() / hourMs) * hourMs + 0.5 * hourMs;
  const key = await fillAccount(db, now, checks);
  if (db.kind === 'embedded') await createVacuum({ db, log }).tick();
  const background = createBackground({ db, log });
  const app = await buildApp({ db, encryption: createEncryption('bench'), now: () => now, background });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`; // it listens on TCP
  const costs: Record<string, Cost> = {};
  for (const [name, query] of [
    ['state', 'sort=state'],
    ['name', 'sort=name'],
    ['search', 'search=check%20a'],
    ['p95', 'sort=p95&order=desc'],
  ]) {
    const ask = async () => {
      const answer = await fetch(`${base}/v1/checks-overview?limit=100&${query}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
    };
    await ask();
    const figures: Cost[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = process.cpuUsage();
      const began = performance.now();
      await ask();
      const { user, system } = process.cpuUsage(before);
      figures.push({ cpu: (user + system) / 1000, wall: performance.now() - began });
    }
    const median = (of: keyof Cost) =>
      Number((figures.map((one) => one[of]).sort((a, b) => a - b)[rounds >> 1] ?? 0).toFixed(1));
    const cost = { cpu: median('cpu'), wall: median('wall') };
    costs[String(name)] = cost;
    console.log(
      `${db.kind.padEnd(9)} ${String(name).padEnd(8)} ${cost.cpu} ms of processor, ${cost.wall} ms`,
    );
  }
  await app.close();
  return costs;
}

async function main(): Promise<void> {
  const figures: { [kind: string]: Record<string, Cost> } = {};
  const binaries = await postgresBinaries();
  if (binaries === null || !existsSync(binaries)) {
    console.log('server: not measured, because PostgreSQL is not installed');
  } else {
    const postgres = await startPostgres(binaries);
    const db = await openDatabase({ databaseUrl: new Secret(postgres.url('postgres')), dataDir: '' });
    figures['server'] = await run(db);
    await db.close();
    await postgres.stop();
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const embedded = await openDatabase({ databaseUrl: null, dataDir });
  figures['embedded'] = await run(embedded);
  await embedded.close();
  await rm(dataDir, { recursive: true });
  const ratios = Object.values(figures).flatMap((costs) =>
    Object.entries(limits).map(([name, limit]) => (costs[name]?.cpu ?? 0) / limit),
  );
  const ratio = Number(Math.max(...ratios).toFixed(2));
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
  console.log(
    JSON.stringify({
      name: 'overview',
      unit: 'ms',
      ours: ratio * limits.state,
      peer: null,
      limit: limits.state,
      ratio,
      figures,
      machine,
    }),
  );
  process.exitCode = ratio <= 1 ? 0 : 1;
}

await main();
