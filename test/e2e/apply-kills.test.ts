import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { databases, servicePlace, type ServicePlace } from '../helpers/service/database.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/** `apply` as a program, and what befalls it in the middle: a kill of either side, Ctrl-C, a second apply. */

const patientMs = 300_000;

type Keys = { apiKey: string };
type Service = { program: Program; url: string; key: string; api: Api };

let main: string;
beforeAll(async () => {
  main = await builtProgram();
}, 180_000);

describe.each(databases)('$name', ({ name, unavailable }) => {
  const embedded = name === databases[0]?.name;
  /** Checks of the deployment. The embedded database cannot be made to wait, so there it must take a while. */
  const count = embedded ? 1_200 : 400;
  describe.skipIf(unavailable !== null)(unavailable ?? 'available', () => {
    let place: ServicePlace;
    let folder: string;
    let service: Service;
    let port: number;

    beforeEach(async () => {
      place = await servicePlace({ embedded });
      folder = mkdtempSync(join(tmpdir(), 'apply-kills-'));
      port = await freePort();
      service = await startService(port);
      write('one');
    }, patientMs);
    afterEach(async () => {
      killAll();
      await place.remove();
      rmSync(folder, { recursive: true, force: true });
    });
    afterAll(killAll);

    async function startService(at: number): Promise<Service> {
      const program = startProgram(main, ['service'], {
        SERVICE_PORT: String(at),
        ...place.env,
        SERVICE_RATE_LIMIT: '0',
      });
      const ready = await readyLine(program, 120_000);
      const { apiKey } = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys; // it has just written it
      return { program, url: ready.serviceUrl, key: apiKey, api: apiOf(ready.serviceUrl, apiKey) };
    }

    function write(tag: string): void {
      const checks = Array.from({ length: count }, (_, number) => ({
        kind: 'check',
        logicalId: `check-${number}`,
        checkType: 'URL',
        name: `Check ${number}`,
        tags: [tag],
        locations: ['eu-west-1'],
        request: { url: `https://shop.example/${number}` },
      }));
      writeFileSync(join(folder, 'project.yaml'), 'logicalId: shop\n');
      writeFileSync(join(folder, 'checks.json'), JSON.stringify(checks));
    }

    const command = (name: string, url = service.url): Program =>
      startProgram(main, [name, folder], { SERVICE_URL: url, SERVICE_API_KEY: service.key });
    const done = async (name: string) => {
      const program = command(name);
      return { code: await program.exited, stdout: program.stdout(), stderr: program.stderr() };
    };
    /**
     * Lets no deployment write this check and the next ones until the connection ends.
     * Null: the embedded database has no second one.
     */
    async function heldAt(number: number): Promise<pg.Client | null> {
      if (embedded) return null;
      const database = new pg.Client({ connectionString: place.env['DATABASE_URL'] });
      await database.connect();
      await database.query(`
        create function wait_here() returns trigger language plpgsql as
          'begin perform pg_advisory_xact_lock_shared(1); return new; end';
        create trigger wait_here before insert on checks
          for each row when (new.name = 'Check ${number}') execute function wait_here();
        select pg_advisory_lock(1)`);
      return database;
    }
    /** Starts an apply, and resolves when a part of its resources is written. `goOn`: lets it write the others. */
    async function inTheMiddle(): Promise<{ program: Program; goOn: () => Promise<void> }> {
      const database = await heldAt(count / 2);
      const program = command('apply');
      // The embedded database answers nothing before the end of a transaction.
      const isInside = () => (embedded ? /^0 %$/m : /^(?:[1-9]|[1-8]\d) %$/m).test(program.stderr());
      let ended = false;
      void program.exited.then(() => (ended = true));
      await until(() => isInside() || ended, `progress; it says ${program.stderr()}`, 120_000);
      if (embedded) await new Promise((resolve) => setTimeout(resolve, 500));
      expect([ended, program.stderr()]).toEqual([false, expect.stringMatching(/\d %/)]);
      return { program, goOn: async () => database?.end() };
    }
    const tags = async () => {
      const seen = new Set<string>();
      for (let page = 1; page <= count / 100; page++) {
        const path = `/v1/checks?limit=100&page=${page}`;
        const { body } = await service.api<{ tags: string[] }[]>('GET', path);
        for (const check of body) seen.add(check.tags.join());
      }
      return [...seen];
    };

    test(
      'a killed service changes nothing, and the command says so when it is back',
      async () => {
        const { program, goOn } = await inTheMiddle();
        service.program.kill('SIGKILL');
        await service.program.exited;
        await goOn();
        await until(() => program.stderr().includes('does not answer'), 'the command notices', 60_000);
        service = await startService(port);
        expect([await program.exited, program.stderr()]).toEqual([
          1,
          expect.stringContaining('The service stopped during the deployment. Nothing was changed'),
        ]);
        expect(await tags()).toEqual([]);
        expect((await done('plan')).code).toBe(2);
        expect(await done('apply')).toMatchObject({ code: 0 });
        expect(await done('plan')).toMatchObject({ code: 0, stdout: 'no changes\n' });
      },
      patientMs,
    );

    test(
      'a killed command does not stop its deployment',
      async () => {
        const { program, goOn } = await inTheMiddle();
        program.kill('SIGKILL');
        await program.exited;
        await goOn();
        type Deployment = { status: string };
        await until(
          async () => {
            const { body } = await service.api<Deployment[]>('GET', '/v1/projects/shop/deployments');
            return Array.isArray(body) && body[0]?.status === 'SUCCEEDED';
          },
          'the end of the deployment',
          120_000,
        );
        expect(await done('plan')).toMatchObject({ code: 0, stdout: 'no changes\n' });
      },
      patientMs,
    );

    test(
      'Ctrl-C cancels: nothing is changed',
      async () => {
        // The deployment cannot write its first check before the request to cancel is there.
        const database = await heldAt(0);
        const program = command('apply');
        await until(() => /^0 %$/m.test(program.stderr()), 'the begin', 120_000);
        if (embedded) await new Promise((resolve) => setTimeout(resolve, 500));
        program.kill('SIGINT');
        if (database !== null) {
          const wish = 'select from project_deployments where cancel_requested_at is not null';
          await until(
            async () => (await database.query(wish)).rowCount === 1,
            'the request to cancel',
            60_000,
          );
          await database.end();
        }
        if (embedded && (await program.exited) === 0) {
          // The request to cancel came after the end.
          expect(await done('plan')).toMatchObject({ code: 0, stdout: 'no changes\n' });
          return;
        }
        expect([await program.exited, program.stderr()]).toEqual([
          1,
          expect.stringContaining('The deployment was cancelled. Nothing was changed.'),
        ]);
        expect(await tags()).toEqual([]);
      },
      patientMs,
    );

    test(
      'a second apply waits for the first one, also at another replica',
      async () => {
        // One process at a time has an embedded database. There the second one waits for its first answer.
        const other = embedded ? service : await startService(await freePort());
        // The first deployment cannot write its first check before the second one waits for it.
        const database = await heldAt(0);
        const first = embedded ? (await inTheMiddle()).program : command('apply');
        await until(() => /^0 %$/m.test(first.stderr()), 'the begin', 120_000);
        write('two');
        const second = command('apply', other.url);
        if (database !== null) {
          const waits = 'another deployment of the project is going on: waiting for it';
          await until(() => second.stderr().includes(waits), 'the second one waits', 120_000);
          await database.end();
        }
        expect([await second.exited, second.stderr()]).toEqual([0, expect.stringMatching(/^\d+ %$/m)]);
        expect(await first.exited).toBe(0);
        expect(await tags()).toEqual(['two']);
        expect(await done('plan')).toMatchObject({ code: 0, stdout: 'no changes\n' });
      },
      patientMs,
    );
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  await new Promise((resolve) => server.close(resolve));
  return port;
}
