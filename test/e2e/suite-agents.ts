import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { packBundle } from '../../src/script/suite/bundle/pack.ts';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace } from '../helpers/service/database.ts';
import {
  apiOf,
  killAll,
  startedWith,
  readyLine,
  startProgram,
  until,
  type Api,
  type Program,
} from './program.ts';

/** A service and its agents as programs, and suites that need no packages: for tests of what goes wrong on the way. */

export type SuiteResult = {
  id: string;
  status: string;
  resultType: string;
  reason: { code: string; message: string } | null;
  details: {
    exitCode: number | null;
    errors: string[];
    totals: { tests: number };
    tests: { title: string }[];
    testsLeftOut: number;
  } | null;
  artifacts: { name: string; state: string; size: number }[];
  log: { msg: string }[];
};

export type SuiteAgents = {
  /** Of this test, and gone with it. */
  folder: string;
  service: string;
  api: Api;
  startAgent: (options: {
    data: string;
    graceSeconds: number;
    key: string;
    serviceUrl: string;
    /** At once. */
    suites?: number;
  }) => Program;
  /** Processes of suites of the agent with this data folder. */
  ofSuites: (data: string) => { pid: number; command: string }[];
  /** A check whose project has these files, and a session of it that is waiting now; the check's id. */
  trigger: (name: string, files: { [path: string]: string }, fields: object) => Promise<string>;
  results: (checkId: string) => Promise<SuiteResult[]>;
  /** The result of a check once it is there: there must be one, a final one. */
  onlyResult: (checkId: string) => Promise<SuiteResult>;
  close: () => Promise<void>;
};

export async function startSuiteService(): Promise<SuiteAgents> {
  const main = await builtProgram();
  const folder = mkdtempSync(join(tmpdir(), 'suite-agents-'));
  const place = await servicePlace();
  const program = startProgram(main, ['service'], {
    SERVICE_PORT: '0',
    ...place.env,
    SERVICE_RATE_LIMIT: '0',
  });
  const ready = await readyLine(program);
  const service = ready.serviceUrl;
  // The service has just written it.
  const keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as {
    apiKey: string;
  };
  const api = apiOf(service, keys.apiKey);
  const results = async (id: string) =>
    (await api<SuiteResult[]>('GET', `/v1/check-results/${id}?limit=10`)).body;
  return {
    folder,
    service,
    api,
    startAgent: ({ data, graceSeconds, key, serviceUrl, suites = 1 }) =>
      startProgram(main, ['start'], {
        SERVICE_URL: serviceUrl,
        API_KEY: key,
        AGENT_HEALTH_PORT: '0',
        AGENT_DATA_DIR: data,
        AGENT_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
        SUITE_CONCURRENCY: String(suites),
        PLAYWRIGHT_DOWNLOAD_HOST: 'http://127.0.0.1:9',
        SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,::/0,127.0.0.0/8,::1',
      }),
    ofSuites: (data) => startedWith(join(data, 'runs')),
    trigger: async (name, files, fields) => {
      const project = join(folder, name);
      const manifest = { name: 'nothing', version: '1.0.0', private: true };
      const lock = { ...manifest, lockfileVersion: 3, packages: {} };
      const all = {
        'package.json': JSON.stringify(manifest),
        'package-lock.json': JSON.stringify(lock),
        ...files,
      };
      for (const [path, text] of Object.entries(all)) {
        mkdirSync(dirname(join(project, path)), { recursive: true });
        writeFileSync(join(project, path), text);
      }
      const archive = join(folder, `${name}.tar.gz`);
      await packBundle({ folder: project, to: archive });
      const answer = await fetch(`${service}/v1/playwright-bundles`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.apiKey}`, 'content-type': 'application/octet-stream' },
        body: readFileSync(archive),
      });
      expect(answer.status).toBe(201);
      const { key } = (await answer.json()) as { key: string };
      const made = await api<{ id: string }>('POST', '/v1/checks/playwright', {
        name,
        codeBundlePath: key,
        frequency: 1440,
        // There are no packages.
        installCommand: 'true',
        ...fields,
      });
      expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
      const target = { target: { checkId: [made.body.id] } };
      expect(await api('POST', '/v2/check-sessions/trigger', target)).toMatchObject({ status: 201 });
      return made.body.id;
    },
    results,
    onlyResult: async (id) => {
      await until(async () => (await results(id)).length > 0, 'a result', 90_000);
      const all = await results(id);
      expect(all.map(({ resultType }) => resultType)).toEqual(['FINAL']);
      return all[0] as SuiteResult;
    },
    close: async () => {
      killAll();
      rmSync(folder, { recursive: true, force: true });
      await place.remove();
    },
  };
}
