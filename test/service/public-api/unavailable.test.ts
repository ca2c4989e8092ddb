import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../../src/secrets/secret.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import { createChance, fitting, type Components, type Schema } from '../../helpers/fuzz-input.ts';
import {
  copyFolder,
  embeddedTemplate,
  migratedDatabase,
  serverTemplate,
} from '../../helpers/service/database-templates.ts';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import { postgresBinaries, startPostgres } from '../../helpers/service/postgres.ts';
import type { Fields, TestService } from '../../helpers/service/service.ts';
import { createSmallDisk } from '../../helpers/small-disk.ts';

/**
 * Every operation of the document while the database does not answer, and while its disk is full. Each answer is the one
 * that the document describes: status, body and the header `retry-after` (the test service looks at each).
 */

type Operation = {
  method: string;
  path: string;
  requestBody?: { content: { [type: string]: { schema: Schema } } };
};
type Answered = { name: string; status: number };

async function readDocument(service: TestService): Promise<{ all: Operation[]; components: Components }> {
  const { body } = await service.call<{
    paths: { [path: string]: { [method: string]: Omit<Operation, 'method' | 'path'> } };
    components: { schemas: Components };
  }>('GET', '/openapi.json');
  const all = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
  return { all, components: body.components.schemas };
}

/** Sends one valid request of each operation, and returns what came. */
async function callAll(
  service: TestService,
  everything: Everything,
  { all, components }: { all: Operation[]; components: Components },
): Promise<Answered[]> {
  const answered: Answered[] = [];
  const queue = all.entries();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const [index, { method, path, requestBody }] of queue) {
        const schema = requestBody?.content['application/json']?.schema;
        const known = everything.bodies.get(path) ?? everything.bodies.get(path.replace(/\/\{id\}$/, ''));
        const made = () => fitting(schema ?? {}, { chance: createChance(index), components }) as Fields;
        const options =
          path === '/v1/sign-out'
            ? { headers: { cookie: `session=${'x'.repeat(43)}`, 'sec-fetch-site': 'same-origin' } }
            : requestBody === undefined
              ? {}
              : schema === undefined
                ? { body: 'bytes', headers: { 'content-type': 'application/octet-stream' } }
                : { body: known ?? made() };
        const { status } = await service.call(method, everything.pathOf(path), options);
        answered.push({ name: `${method} ${path}`, status });
      }
    }),
  );
  return answered;
}

/** What these operations answer is part of the program. With a known key they need no database. */
const constant = new Set(['GET /v1/analytics/metrics', 'GET /v1/runtimes', 'GET /v1/runtimes/{id}']);
const needsDatabase = ({ name }: Answered) => !constant.has(name);

const namesOf = (answered: readonly Answered[], isMeant: (status: number) => boolean): string[] =>
  answered
    .filter(({ status }) => isMeant(status))
    .map(({ name, status }) => `${status} ${name}`)
    .sort();

const binaries = await postgresBinaries();
if (binaries === null)
  process.stderr.write(
    'skipped here: a database that is away: no PostgreSQL binaries (apt-get install postgresql)\n',
  );

describe.skipIf(binaries === null)('a database that does not answer', () => {
  test('every operation answers 503, with the time to wait', { timeout: 300_000 }, async () => {
    const template = await serverTemplate(binaries ?? '');
    const postgres = await startPostgres(binaries ?? '', [], (dataDir, owner) =>
      copyFolder(template, dataDir, owner),
    );
    const db = await openDatabase({ databaseUrl: new Secret(postgres.url(migratedDatabase)), dataDir: '' });
    let ahead = 0;
    const { service, everything, close } = await startServiceWithEverything({
      db,
      now: () => Date.now() + ahead,
    });
    const document = await readDocument(service);
    expect(document.all.length).toBeGreaterThan(250);
    await postgres.stop();
    try {
      // The key is still known, so that each operation comes to its own statements.
      const inside = await callAll(service, everything, document);
      expect(namesOf(inside, (status) => status >= 500 && status !== 503)).toEqual([]);
      expect(namesOf(inside.filter(needsDatabase), (status) => status < 400)).toEqual([]);
      expect(namesOf(inside, (status) => status === 503).length).toBeGreaterThan(150);
      // Nobody knows the key any more.
      ahead = 60_000;
      const outside = await callAll(service, everything, document);
      expect(namesOf(outside, (status) => status !== 503)).toEqual([]);
      expect(outside.length).toBe(document.all.length);
    } finally {
      await close();
      await db.close();
    }
  });
});

/** Whether small disks can be mounted here. */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  const disk = createSmallDisk(1);
  try {
    disk.mount(folder);
    return true;
  } catch {
    return false;
  } finally {
    disk.unmount();
    rmSync(folder, { recursive: true });
  }
}
const mounts = canMount();
if (!mounts)
  process.stderr.write('skipped here: a full disk of the database: no right to mount a small disk\n');

describe.skipIf(!mounts)('a full disk', () => {
  test('every operation of a service with its own database answers 507', { timeout: 300_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'full-disk-'));
    const disk = createSmallDisk(300);
    disk.mount(dataDir);
    let db: Db | null = null;
    try {
      copyFolder(await embeddedTemplate({ migrated: true }), join(dataDir, 'database'));
      db = await openDatabase({ databaseUrl: null, dataDir });
      let ahead = 0;
      const { service, everything, close } = await startServiceWithEverything({
        db,
        now: () => Date.now() + ahead,
      });
      const document = await readDocument(service);
      disk.fill();
      // The disk is looked at once a second.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const inside = await callAll(service, everything, document);
      expect(namesOf(inside, (status) => status >= 500 && status !== 507)).toEqual(['503 GET /health']);
      expect(namesOf(inside.filter(needsDatabase), (status) => status < 400)).toEqual([]);
      ahead = 60_000;
      const outside = await callAll(service, everything, document);
      expect(namesOf(outside, (status) => status !== 507)).toEqual(['503 GET /health']);
      disk.free();
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      expect((await service.call('GET', '/v1/checks')).status).toBe(200);
      await close();
    } finally {
      await db?.close();
      disk.unmount();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test.skipIf(binaries === null)(
    'of a server of PostgreSQL: reads work, and writes that need room answer 507',
    { timeout: 300_000 },
    async () => {
      const disk = createSmallDisk(200);
      const template = await serverTemplate(binaries ?? '');
      const settings = ['max_wal_size=32MB', 'min_wal_size=32MB', 'autovacuum=off'];
      const postgres = await startPostgres(binaries ?? '', settings, (dataDir, owner) => {
        disk.mount(dataDir, owner);
        copyFolder(template, dataDir, owner);
      });
      const db = await openDatabase({ databaseUrl: new Secret(postgres.url(migratedDatabase)), dataDir: '' });
      const { service, everything, close } = await startServiceWithEverything({ db });
      try {
        disk.fill();
        const document = await readDocument(service);
        const reads = document.all.filter(({ method, path }) => method === 'GET' && path.endsWith('s'));
        const read = await callAll(service, everything, {
          ...document,
          all: reads.filter(({ path }) => path !== '/v1/events'),
        });
        expect(namesOf(read, (status) => status >= 500)).toEqual([]);
        // More than the pages of the tables have room for.
        const large = () => Array.from({ length: 6_000 }, () => crypto.randomUUID()).join('');
        const snippet = await service.call('POST', '/v1/snippets', {
          body: { name: 'large', script: large() },
        });
        expect(snippet.status).toBe(507);
        expect(snippet.body).toMatchObject({ message: expect.stringMatching(/^The service's disk is full/) });
        const path = everything.pathOf('/v1/checks/browser/{id}');
        expect((await service.call('PUT', path, { body: { script: large() } })).status).toBe(507);
        disk.free();
        expect((await service.call('PUT', path, { body: { script: large() } })).status).toBe(200);
      } finally {
        await close();
        await db.close();
        disk.free();
        await postgres.stop(() => disk.unmount());
      }
    },
  );
});
