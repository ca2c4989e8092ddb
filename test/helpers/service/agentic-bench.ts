import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { readAnalysisConfig, type AnalysisConfig } from '../../../src/config/analysis.ts';
import { usualLimits } from '../../../src/service/agentic/perform.ts';
import { createAgenticChecks, type AgenticChecks } from '../../../src/service/agentic/run-checks.ts';
import { createArtifactFiles, type ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { createEncryption } from '../../../src/service/engine/encryption.ts';
import { addCheck, createClock, silent } from './agent-service.ts';
import { anyDatabase } from './database.ts';
import { startModel, type TestModel } from './model-endpoint.ts';
import { startTestService, type Fields, type TestService } from './service.ts';

export type Result = Fields & { details: Fields & { steps: Fields[] } };

/** The secret that the check of each test has as `PASSWORD`. */
export const secret = 'the-secret-of-ann-7';
export const encryption = createEncryption('a key for tests of agentic checks');

/** The configuration of a service without a model. */
export const unset = readAnalysisConfig({});

/**
 * A service that runs agentic checks, a page for them to visit (`url`), a peer for the model, and one check that is new before
 * each test. Registers the hooks that start and stop them.
 */
export function agenticBench() {
  const clock = createClock(Date.parse('2026-03-01T12:00:00Z'));
  let db: Db;
  let model: TestModel;
  let checks: AgenticChecks;
  let service: TestService;
  let shop: Server;
  let checkId = '';
  let url = '';
  let folder = '';
  let stored: ArtifactFiles;
  let files: ArtifactFiles;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentic-files-'));
    db = await anyDatabase.open();
    model = await startModel();
    shop = createServer((request, response) => {
      if (request.url === '/redirect')
        return response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
      response.setHeader('content-type', 'text/html');
      if (request.url === '/huge') {
        return response.end(`<title>${'t'.repeat(100_000)}</title>\u0000<script>
          for (let n = 0; n < 20; n++) window.open('/');
          document.write('much '.repeat(1_000_000));</script>`);
      }
      return response.end(`<title>Shop</title><input id="password"><button onclick="
        setTimeout(() => document.body.append('Welcome, ' + document.getElementById('password').value), 300)">${bench.button}</button>`);
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`; // it listens on TCP
    checks = createAgenticChecks({
      db,
      encryption,
      now: clock.now,
      log: silent,
      partitions: createPartitions(db),
      // As they are when a run begins.
      get config() {
        return bench.config;
      },
      get limits() {
        return bench.limits;
      },
      get files() {
        return bench.files;
      },
    });
    stored = createArtifactFiles(folder);
    service = await startTestService(db, { now: clock.now, encryption, files: stored });
  });
  beforeEach(async () => {
    bench.files = stored;
    bench.config = { ...unset, endpoint: model.endpoint };
    bench.limits = usualLimits;
    bench.button = 'Sign in';
    model.asked.length = 0;
    model.answers.length = 0;
    await db.query('update checks set activated = false');
    const variable = { key: 'PASSWORD', value: encryption.seal(secret), locked: false, secret: true };
    checkId = await addCheck(db, {
      accountId: service.account.id,
      checkType: 'AGENTIC',
      frequency: 5,
      now: clock.now(),
      definition: {
        prompt: 'Sign in with {{PASSWORD}}: the page must welcome Ann.',
        agentRuntime: { skills: [] },
        environmentVariables: [variable],
      },
    });
  });
  afterAll(async () => {
    await checks.stop();
    await service.close();
    await model.close();
    shop.closeAllConnections();
    await new Promise((resolve) => shop.close(resolve));
    await anyDatabase.close();
    await rm(folder, { recursive: true, force: true });
  });

  const results = async (query = '') =>
    (await service.call<Result[]>('GET', `/v1/check-results/${checkId}${query}`)).body;
  async function untilDue(): Promise<void> {
    const [row] = await db.query<{ at: Date }>('select next_due_at as at from checks where id = $1', [
      checkId,
    ]);
    clock.set(row!.at.getTime() + 1_000);
  }
  /** The next run that is due; its result. */
  async function run(): Promise<Result> {
    await untilDue();
    await checks.tick();
    await checks.idle();
    return (await results())[0]!;
  }

  const bench = {
    clock,
    get db() {
      return db;
    },
    get model() {
      return model;
    },
    get checks() {
      return checks;
    },
    get service() {
      return service;
    },
    get checkId() {
      return checkId;
    },
    get url() {
      return url;
    },
    get folder() {
      return folder;
    },
    /** The files of the service; `files` again before each test. */
    get stored() {
      return stored;
    },
    /** What the runs use; the defaults again before each test. */
    get files() {
      return files;
    },
    set files(value: ArtifactFiles) {
      files = value;
    },
    config: unset as AnalysisConfig,
    limits: usualLimits,
    /** The label of the page's button. */
    button: 'Sign in',
    results,
    untilDue,
    run,
  };
  return bench;
}
