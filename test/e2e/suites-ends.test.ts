import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packBundle } from '../../src/script/suite/pack-bundle.ts';
import { builtProgram } from '../helpers/build.ts';
import { emptyDataDir } from '../helpers/database.ts';
import { hasSuites } from '../helpers/suites.ts';
import {
  apiOf,
  killAll,
  processesWith,
  readyLine,
  startProgram,
  until,
  type Api,
  type Program,
} from './program.ts';

/**
 * What becomes of a suite when its agent is killed or drained in any of its stages, or loses the service: programs of their
 * own, a browser and a daemon included. The projects need no packages, so no registry.
 */

type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Result = {
  id: string;
  status: string;
  resultType: string;
  details: { exitCode: number | null } | null;
  artifacts: { name: string; state: string }[];
  log: { msg: string }[];
};

/** Says where it is, and goes on when it is told to. */
const waits = `const at = async (name) => (await fetch(process.env.CONTROL + '/' + name)).text();`;
const quick = `${waits}\nawait at(process.argv[2]);\nconsole.log('went on');`;
/** With a browser and a server that are in sessions of their own, as Playwright starts them. */
const crowd = `${waits}
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const apart = { detached: true, stdio: 'ignore' };
spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); require('http').createServer().listen(0)", 'web-server'], apart).unref();
const profile = process.env.TMPDIR + '/profile';
spawn('/usr/bin/chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--user-data-dir=' + profile, 'about:blank'], apart).unref();
writeFileSync(process.env.TMPDIR + '/left', 'x');
await at(process.argv[2]);
console.log('went on');
process.exit(0);`;

describe.runIf(hasSuites)('the end of an agent with a suite', { timeout: 120_000 }, () => {
  let main: string;
  let folder: string;
  let serviceDir: string;
  let service: string;
  let keys: Keys;
  let api: Api;
  const servers: Server[] = [];

  /** Suites that wait, by the name that they came with. */
  const waiting = new Map<string, ServerResponse[]>();
  let control: string;
  const arrived = (name: string) =>
    until(() => waiting.get(name)?.length, `a suite at ${name}`, 60_000).then(() => undefined);
  const release = (name: string) => {
    for (const response of waiting.get(name) ?? []) response.end('go on');
    waiting.delete(name);
  };

  /** Between the agent and the service: lets through what `mayPass` says. */
  let gate: string;
  let mayPass = (_path: string): boolean => true;

  async function listen(server: Server): Promise<string> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  beforeAll(async () => {
    main = await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'suites-ends-'));
    serviceDir = await emptyDataDir();
    const program = startProgram(main, ['service'], { SERVICE_PORT: '0', SERVICE_DATA_DIR: serviceDir });
    const ready = await readyLine(program);
    service = ready.serviceUrl;
    keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys; // the service has just written it
    api = apiOf(service, keys.apiKey);
    control = await listen(
      createServer((request, response) => {
        const name = (request.url ?? '').slice(1);
        waiting.set(name, [...(waiting.get(name) ?? []), response]);
      }),
    );
    gate = await listen(
      createServer((request, response) => {
        if (!mayPass(request.url ?? '')) return void request.socket.destroy();
        const { method, headers, url } = request;
        const onward = httpRequest(service + (url ?? ''), { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        });
        onward.on('error', () => response.destroy());
        response.on('close', () => onward.destroy());
        request.pipe(onward);
      }),
    );
  }, 180_000);
  afterAll(() => {
    killAll();
    for (const server of servers) server.close().closeAllConnections();
    for (const own of [folder, serviceDir]) rmSync(own, { recursive: true, force: true });
  });

  const usual = 'agent';
  const dataDir = (of: string) => join(folder, of);
  const ofSuites = (of = usual) => processesWith(join(dataDir(of), 'runs'));

  function startAgent(graceSeconds: number, of = usual, key = keys.locationKey): Program {
    return startProgram(main, ['start'], {
      SERVICE_URL: gate,
      API_KEY: key,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: dataDir(of),
      AGENT_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
      PLAYWRIGHT_DOWNLOAD_HOST: 'http://127.0.0.1:9',
    });
  }

  /** A check with this program as `test.mjs`, and a session of it that is waiting now; the check's id. */
  async function trigger(name: string, program: string, fields: object = {}): Promise<string> {
    const project = join(folder, name);
    mkdirSync(join(project, 'core'), { recursive: true });
    const manifest = { name: 'nothing', version: '1.0.0', private: true };
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    const lock = { ...manifest, lockfileVersion: 3, packages: {} };
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock));
    writeFileSync(join(project, 'test.mjs'), program);
    // What stands for the project's Playwright.
    writeFileSync(join(project, 'core', 'package.json'), '{"version":"1.58.2"}');
    const browsers = [{ name: 'chromium', revision: '1' }];
    writeFileSync(join(project, 'core', 'browsers.json'), JSON.stringify({ browsers }));
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
      testCommand: `node test.mjs ${name}`,
      privateLocations: [keys.locationSlug],
      frequency: 1440,
      environmentVariables: [{ key: 'CONTROL', value: control }],
      ...fields,
    });
    expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
    const target = { target: { checkId: [made.body.id] } };
    expect(await api('POST', '/v2/check-sessions/trigger', target)).toMatchObject({ status: 201 });
    return made.body.id;
  }

  /** All results of a check, once there is one. */
  const results = (id: string) =>
    until(
      async () => {
        const { body } = await api<Result[]>('GET', `/v1/check-results/${id}?limit=10`);
        return body.length > 0 && body;
      },
      'a result',
      60_000,
    );
  const onlyResult = async (id: string): Promise<Result> => {
    const all = await results(id);
    expect(all.map(({ resultType }) => resultType)).toEqual(['FINAL']);
    return all[0] as Result;
  };
  const words = (result: Result) => result.log.map(({ msg }) => msg).join('\n');
  /** Temporary files that suites of this agent have outside of its folder. */
  const outside = (runs: string) =>
    readdirSync(runs).flatMap((home) =>
      readdirSync(join(runs, home))
        .map((run) => join(runs, home, run, 'outside'))
        .flatMap((link) => {
          try {
            return [readlinkSync(link)];
          } catch {
            return [];
          }
        }),
    );

  const killed = { checkId: '', data: 'killed' };
  let second: Program;

  test('killed: nothing of the suite is left', async () => {
    const { data } = killed;
    const location = await api<{ id: string }>('POST', '/v1/private-locations', {
      name: 'Of the killed',
      slugName: 'killed',
    });
    const key = await api<{ rawKey: string }>('POST', `/v1/private-locations/${location.body.id}/keys`);
    const first = startAgent(60, data, key.body.rawKey);
    killed.checkId = await trigger('crowd', crowd, { privateLocations: ['killed'] });
    await arrived('crowd');
    const commands = () => ofSuites(data).map(({ command }) => command);
    await until(() => commands().some((each) => each.includes('--type=')), 'a browser');
    expect(commands().some((each) => each.endsWith('web-server'))).toBe(true);
    const runs = join(dataDir(data), 'runs');
    const temporary = outside(runs);
    expect(temporary.map((path) => existsSync(join(path, 'left')))).toEqual([true]);
    const homes = readdirSync(runs);
    waiting.delete('crowd');
    first.kill('SIGKILL');
    await first.exited;
    await until(() => ofSuites(data).length === 0, 'the end of its processes', 15_000);
    second = startAgent(60, data, key.body.rawKey);
    const left = () =>
      [...temporary, ...homes.map((name) => join(runs, name))].filter((path) => existsSync(path));
    await until(() => left().length === 0, 'the end of its files');
  });

  test('drained with time: what runs ends, its result and its files arrive', async () => {
    const agent = startAgent(60);
    const id = await trigger('patient', quick);
    await arrived('patient');
    agent.kill('SIGTERM');
    await until(() => agent.stderr().includes('"draining"'), 'the drain');
    release('patient');
    expect(await agent.exited).toBe(0);
    const result = await onlyResult(id);
    expect(words(result)).toContain('went on');
    expect(result.artifacts).toMatchObject([{ name: 'output.log', state: 'stored' }]);
  });

  test('drained without: install, browsers and tests are handed back, and run again elsewhere', async () => {
    const hang = 'node test.mjs';
    const core = 'mkdir -p node_modules/.bin && cp -r core node_modules/playwright-core';
    const program = '#!/bin/sh\\nexec node test.mjs browsers\\n';
    const stages: { [name: string]: object } = {
      install: { installCommand: `${hang} install` },
      browsers: {
        installCommand: `${core} && printf '${program}' > node_modules/.bin/playwright && chmod +x node_modules/.bin/playwright`,
        testCommand: 'echo no more',
        environmentVariables: [
          { key: 'CONTROL', value: control },
          { key: 'PLAYWRIGHT_DOWNLOAD_HOST', value: 'http://127.0.0.1:9' },
        ],
      },
      tests: {},
    };
    for (const [name, fields] of Object.entries(stages)) {
      const agent = startAgent(0);
      const id = await trigger(name, quick, fields);
      await arrived(name);
      waiting.delete(name);
      agent.kill('SIGTERM');
      expect(await agent.exited, name).not.toBeNull();
      expect(ofSuites(), name).toEqual([]);
      expect((await api<Result[]>('GET', `/v1/check-results/${id}?limit=10`)).body, name).toEqual([]);
      // Nobody waits for a lease to run out.
      const next = startAgent(60);
      const began = performance.now();
      await arrived(name);
      expect(performance.now() - began, name).toBeLessThan(20_000);
      release(name);
      if (name === 'install') {
        // Its tests, too.
        await arrived(name);
        release(name);
      }
      await onlyResult(id);
      next.kill('SIGTERM');
      expect(await next.exited, name).toBe(0);
      expect((await results(id)).length, name).toBe(1);
    }
  });

  test('without the service: the result comes later, once; files that a drain left behind come with the next start', async () => {
    const agent = startAgent(1);
    const id = await trigger('away', quick);
    await arrived('away');
    mayPass = () => false;
    release('away');
    await until(() => ofSuites().length === 0, 'the end of the suite');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await api<Result[]>('GET', `/v1/check-results/${id}?limit=10`)).body).toEqual([]);
    // The service is back, but takes no files.
    mayPass = (path) => !path.includes('artifacts');
    const result = await onlyResult(id);
    expect(words(result)).toContain('went on');
    agent.kill('SIGTERM');
    expect(await agent.exited).not.toBeNull();
    expect((await onlyResult(id)).artifacts).toMatchObject([{ name: 'output.log', state: 'pending' }]);
    mayPass = () => true;
    const next = startAgent(5);
    await until(
      async () => (await onlyResult(id)).artifacts.every(({ state }) => state === 'stored'),
      'the file of the result',
      30_000,
    );
    next.kill('SIGTERM');
    await next.exited;
  });

  // The lease runs out while the tests above go on.
  test('killed: its run comes again, once', async () => {
    await arrived('crowd');
    release('crowd');
    expect(words(await onlyResult(killed.checkId))).toContain('went on');
    expect(ofSuites(killed.data)).toEqual([]);
    second.kill('SIGTERM');
    expect(await second.exited).toBe(0);
    expect(await onlyResult(killed.checkId)).toMatchObject({ details: { exitCode: 0 } });
    expect(readdirSync(join(dataDir(killed.data), 'runs'))).toEqual([]);
  });
});
