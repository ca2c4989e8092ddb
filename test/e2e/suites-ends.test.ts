import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hasSuites } from '../helpers/suites/suites.ts';
import { once, until, type Api, type Program } from './program.ts';
import { startSuiteService, type SuiteAgents, type SuiteResult } from './suite-agents.ts';

/**
 * What happens to a suite when its agent is killed or drained in any of its stages, or cannot reach the service. The suites start
 * programs, a browser and a daemon. The projects need no packages, so no registry.
 */

/** Reports its name to the test, and waits until the test answers. */
const waits = `const at = async (name) => (await fetch(process.env.CONTROL + '/' + name)).text();`;
const quick = `${waits}\nawait at(process.argv[2]);\nconsole.log('went on');`;
/** Starts a browser and a server in their own process sessions, as Playwright does. */
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

describe.runIf(hasSuites)('agents that exit during a suite', { timeout: 120_000 }, () => {
  let bench: SuiteAgents;
  let api: Api;
  const servers: Server[] = [];

  /** Suites that wait, by the name that they have reported. */
  const waiting = new Map<string, ServerResponse[]>();
  let control: string;
  const arrived = (name: string, timeoutMs = 60_000) =>
    until(() => waiting.get(name)?.length, `a suite at ${name}`, timeoutMs).then(() => undefined);
  const release = (name: string) => {
    for (const response of waiting.get(name) ?? []) response.end('go on');
    waiting.delete(name);
  };

  /** A proxy between agents and the service. It forwards the requests that `mayPass` accepts. */
  let gate: string;
  let mayPass = (_path: string): boolean => true;

  async function listen(server: Server): Promise<string> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  beforeAll(async () => {
    bench = await startSuiteService();
    ({ api } = bench);
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
        const onward = httpRequest(bench.service + (url ?? ''), { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        });
        onward.on('error', () => response.destroy());
        response.on('close', () => onward.destroy());
        request.pipe(onward);
      }),
    );
  }, 180_000);
  afterEach(() => {
    mayPass = () => true;
  });
  afterAll(async () => {
    await bench.close();
    for (const server of servers) server.close().closeAllConnections();
  });

  const dataDir = (of: string) => join(bench.folder, of);
  const ofSuites = (of: string) => bench.ofSuites(dataDir(of));
  const startAgent = (
    graceSeconds: number,
    { of, key, suites = 1 }: { of: string; key: string; suites?: number },
  ): Program => bench.startAgent({ data: dataDir(of), graceSeconds, key, suites, serviceUrl: gate });
  const trigger = (name: string, program: string, fields: object = {}): Promise<string> => {
    const browsers = [{ name: 'chromium', revision: '1' }];
    const files = {
      'test.mjs': program,
      // In place of the project's Playwright.
      'core/package.json': '{"version":"1.58.2"}',
      'core/browsers.json': JSON.stringify({ browsers }),
    };
    return bench.trigger(name, files, {
      testCommand: `node test.mjs ${name}`,
      environmentVariables: [{ key: 'CONTROL', value: control }],
      ...fields,
    });
  };
  /** Creates a location and returns a key for it. */
  async function keyOfLocation(slugName: string): Promise<string> {
    const { body } = await api<{ id: string }>('POST', '/v1/private-locations', { name: slugName, slugName });
    const key = await api<{ rawKey: string }>('POST', `/v1/private-locations/${body.id}/keys`);
    return key.body.rawKey;
  }
  const onlyResult = (id: string) => bench.onlyResult(id);
  const words = (result: SuiteResult) => result.log.map(({ msg }) => msg).join('\n');
  /** The suites' temporary folders outside the agent's data directory. */
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

  /** An agent is killed with a suite, and another one starts in its data directory. */
  const afterKill = once(async () => {
    const of = 'killed';
    const key = await keyOfLocation(of);
    const first = startAgent(60, { of, key });
    const checkId = await trigger('crowd', crowd, { privateLocations: [of] });
    await arrived('crowd');
    const commands = () => ofSuites(of).map(({ command }) => command);
    await until(() => commands().some((each) => each.includes('--type=')), 'a browser', 60_000);
    const before = commands();
    const runs = join(dataDir(of), 'runs');
    const temporary = outside(runs);
    const hadFiles = temporary.map((path) => existsSync(join(path, 'left')));
    const paths = [...temporary, ...readdirSync(runs).map((name) => join(runs, name))];
    waiting.delete('crowd');
    first.kill('SIGKILL');
    await first.exited;
    await until(() => ofSuites(of).length === 0, 'the exit of its processes', 15_000);
    return { of, checkId, before, hadFiles, paths, second: startAgent(60, { of, key }) };
  });

  test('a killed agent leaves no process and no file of its suite', async () => {
    const { before, hadFiles, paths } = await afterKill();
    expect(before.some((each) => each.endsWith('web-server'))).toBe(true);
    expect(hadFiles).toEqual([true]);
    await until(() => !paths.some((path) => existsSync(path)), 'the removal of its files');
  });

  const stages = ['install', 'browsers', 'tests'];

  /** An agent without time to drain hands three suites back. The next agent has begun all of them, and finished two. */
  const afterDrain = once(async () => {
    const of = 'drained';
    const key = await keyOfLocation(of);
    const location = { of, key, suites: stages.length };
    const ids = new Map<string, string>();
    const core = 'mkdir -p node_modules/.bin && cp -r core node_modules/playwright-core';
    const program = '#!/bin/sh\\nexec node test.mjs browsers\\n';
    const fields: { [name: string]: object } = {
      install: { installCommand: 'node test.mjs install' },
      browsers: {
        installCommand: `${core} && printf '${program}' > node_modules/.bin/playwright && chmod +x node_modules/.bin/playwright`,
        testCommand: 'echo no more',
        environmentVariables: [
          { key: 'CONTROL', value: control },
          { key: 'PLAYWRIGHT_DOWNLOAD_HOST', value: 'http://127.0.0.1:9' },
        ],
      },
    };
    const agent = startAgent(0, location);
    for (const name of stages)
      ids.set(name, await trigger(name, quick, { ...fields[name], privateLocations: [of] }));
    await Promise.all(stages.map((name) => arrived(name)));
    waiting.clear();
    agent.kill('SIGTERM');
    const exitCode = await agent.exited;
    const processes = ofSuites(of);
    const idOf = (name: string) => ids.get(name) ?? '';
    const results = await Promise.all(stages.map((name) => bench.results(idOf(name))));
    const next = startAgent(1, location);
    // Less than a lease: the jobs were handed back.
    await Promise.all(stages.map((name) => arrived(name, 20_000)));
    release('install');
    release('browsers');
    // The test command of the same suite.
    await arrived('install');
    release('install');
    await Promise.all(['install', 'browsers'].map((name) => onlyResult(idOf(name))));
    return { location, idOf, exitCode, processes, results, next };
  });

  test('suites of an agent that has no time to drain are handed back in every stage, and run again elsewhere', async () => {
    const { exitCode, processes, results } = await afterDrain();
    expect(exitCode).not.toBeNull();
    expect(processes).toEqual([]);
    expect(results).toEqual(stages.map(() => []));
  });

  test('a result arrives once the service is back, and files that a drain left arrive after the next start', async () => {
    const { location, idOf, next } = await afterDrain();
    const id = idOf('tests');
    mayPass = () => false;
    release('tests');
    await until(() => ofSuites(location.of).length === 0, 'the exit of the suite');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await bench.results(id)).toEqual([]);
    // The service is back, but takes no files.
    mayPass = (path) => !path.includes('artifacts');
    const result = await onlyResult(id);
    expect(words(result)).toContain('went on');
    next.kill('SIGTERM');
    expect(await next.exited).not.toBeNull();
    expect((await onlyResult(id)).artifacts).toMatchObject([{ name: 'output.log', state: 'pending' }]);
    mayPass = () => true;
    const last = startAgent(5, location);
    await until(
      async () => (await onlyResult(id)).artifacts.every(({ state }) => state === 'stored'),
      'the file of the result',
      30_000,
    );
    last.kill('SIGTERM');
    expect(await last.exited).toBe(0);
    for (const name of stages) expect((await bench.results(idOf(name))).length, name).toBe(1);
  });

  // The lease of the killed agent expires during the tests above.
  test('the run of a killed agent is repeated once, and finishes while the second agent drains', async () => {
    const { of, checkId, second } = await afterKill();
    await arrived('crowd');
    second.kill('SIGTERM');
    await until(() => second.stderr().includes('"draining"'), 'the drain');
    release('crowd');
    expect(await second.exited).toBe(0);
    const result = await onlyResult(checkId);
    expect(words(result)).toContain('went on');
    expect(result).toMatchObject({
      details: { exitCode: 0 },
      artifacts: [{ name: 'output.log', state: 'stored' }],
    });
    expect(ofSuites(of)).toEqual([]);
    expect(readdirSync(join(dataDir(of), 'runs'))).toEqual([]);
  });
});
