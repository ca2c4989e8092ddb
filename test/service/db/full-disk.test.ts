import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../../src/secrets/secret.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  resultOf,
} from '../../helpers/service/agent-service.ts';
import { copyFolder, migratedDatabase, serverTemplate } from '../../helpers/service/database-templates.ts';
import { postgresBinaries, startPostgres, type Postgres } from '../../helpers/service/postgres.ts';
import { createSmallDisk } from '../../helpers/small-disk.ts';

/** A PostgreSQL server whose disk is full to the last byte. */

const binaries = await postgresBinaries();

/** Why these tests cannot run here; null = they can. */
function missing(): string | null {
  if (binaries === null) return 'no PostgreSQL binaries: apt-get install postgresql';
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  const disk = createSmallDisk(1);
  try {
    disk.mount(folder);
    return null;
  } catch {
    return 'no right to mount a small disk';
  } finally {
    disk.unmount();
    rmSync(folder, { recursive: true });
  }
}
const unavailable = missing();
if (unavailable !== null) process.stderr.write(`skipped here: a full disk of PostgreSQL: ${unavailable}\n`);

describe.skipIf(unavailable !== null)('a full disk of PostgreSQL', () => {
  const disk = createSmallDisk(160);
  let postgres: Postgres;
  let db: Db;
  beforeAll(async () => {
    const template = await serverTemplate(binaries ?? '');
    const settings = ['max_wal_size=32MB', 'min_wal_size=32MB', 'autovacuum=off'];
    postgres = await startPostgres(binaries ?? '', settings, (dataDir, owner) => {
      disk.mount(dataDir, owner);
      copyFolder(template, dataDir, owner);
    });
    db = await openDatabase({ databaseUrl: new Secret(postgres.url(migratedDatabase)), dataDir: '' });
  });
  afterAll(async () => {
    await db.close();
    disk.free();
    await postgres.stop(() => disk.unmount());
  });

  test('a result gets 507 and is not lost: it is taken when there is room again, once', async () => {
    const clock = createClock('2026-03-04T05:06:07.000Z');
    const { app, scheduler } = await createAgentService(db, clock);
    const accountId = await addAccount(db);
    const office = await addLocation(db, { accountId, slug: 'office' });
    const agent = await connectAgent(app, office);
    await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
    clock.advance(60_000);
    await scheduler.tick();
    const [job] = await agent.claim();
    if (job === undefined) throw new Error('no job');
    // More than the free space in the pages that the tables have.
    const log = Array.from({ length: 200 }, (_, line) => ({
      time: clock.now(),
      level: 'info',
      msg: `${line} ${crypto.randomUUID().repeat(20)}`,
    }));
    const result = resultOf(job, clock.now(), { log });
    const stored = async () => (await db.query('select 1 from check_results')).length;

    disk.fill();
    const refused = await agent.call('results', { agentId: agent.agentId, results: [result] });
    expect(refused).toMatchObject({
      status: 507,
      body: { message: expect.stringMatching(/^The service's disk is full/) },
    });
    // Reading needs no room.
    expect(await stored()).toBe(0);
    disk.free();
    expect(await agent.report(result)).toMatchObject([{ jobId: job.jobId, outcome: 'stored' }]);
    // The agent repeats a result whose answer was lost.
    await agent.report(result);
    expect(await stored()).toBe(1);
    await app.close();
  }, 60_000);
});
