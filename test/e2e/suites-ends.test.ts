import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasSuites } from '../helpers/suites/suites.ts';
import { until, type Api, type Program } from './program.ts';
import { startSuiteService, type SuiteAgents, type SuiteResult } from './suite-agents.ts';

/**
 * What becomes of a suite when its agent is killed or drained in any of its stages, or loses the service: programs of their
 * own, a browser and a daemon included. The projects need no packages, so no registry.
 */

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
  let bench: SuiteAgents;
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
      // What stands for the project's Playwright.
      'core/package.json': '{"version":"1.58.2"}',
      'core/browsers.json': JSON.stringify({ browsers }),
    };
    return bench.trigger(name, files, {
      testCommand: `node test.mjs ${name}`,
      environmentVariables: [{ key: 'CONTROL', value: control }],
      ...fields,
    });
  };
  /** A location of its own: a key of it. */
  async function keyOfLocation(slugName: string): Promise<string> {
    const { body } = await api<{ id: string }>('POST', '/v1/private-locations', { name: slugName, slugName });
    const key = await api<{ rawKey: string }>('POST', `/v1/private-locations/${body.id}/keys`);
    return key.body.rawKey;
  }
  const onlyResult = (id: string) => bench.onlyResult(id);
  const words = (result: SuiteResult) => result.log.map(({ msg }) => msg).join('\n');
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

  const killed = { checkId: '', of: 'killed', key: '' };
  let second: Program;

  test('killed: nothing of the suite is left', async () => {
    const { of } = killed;
    killed.key = await keyOfLocation(of);
    const first = startAgent(60, killed);
    killed.checkId = await trigger('crowd', crowd, { privateLocations: [of] });
    await arrived('crowd');
    const commands = () => ofSuites(of).map(({ command }) => command);
    await until(() => commands().some((each) => each.includes('--type=')), 'a browser');
    expect(commands().some((each) => each.endsWith('web-server'))).toBe(true);
    const runs = join(dataDir(of), 'runs');
    const temporary = outside(runs);
    expect(temporary.map((path) => existsSync(join(path, 'left')))).toEqual([true]);
    const homes = readdirSync(runs);
    waiting.delete('crowd');
    first.kill('SIGKILL');
    await first.exited;
    await until(() => ofSuites(of).length === 0, 'the end of its processes', 15_000);
    second = startAgent(60, killed);
    const left = () =>
      [...temporary, ...homes.map((name) => join(runs, name))].filter((path) => existsSync(path));
    await until(() => left().length === 0, 'the end of its files');
  });

  const stages = ['install', 'browsers', 'tests'];
  const drained = { ids: new Map<string, string>(), of: 'drained', key: '', suites: stages.length };
  const idOf = (name: string) => drained.ids.get(name) ?? '';
  let next: Program;

  test('drained without time: install, browsers and tests are handed back, and run again elsewhere', async () => {
    const { of } = drained;
    drained.key = await keyOfLocation(of);
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
    const agent = startAgent(0, drained);
    for (const name of stages)
      drained.ids.set(name, await trigger(name, quick, { ...fields[name], privateLocations: [of] }));
    await Promise.all(stages.map(arrived));
    waiting.clear();
    agent.kill('SIGTERM');
    expect(await agent.exited).not.toBeNull();
    expect(ofSuites(of)).toEqual([]);
    for (const name of stages) expect(await bench.results(idOf(name)), name).toEqual([]);
    // Nobody waits for a lease to run out.
    next = startAgent(1, drained);
    const began = performance.now();
    await Promise.all(stages.map(arrived));
    expect(performance.now() - began).toBeLessThan(20_000);
    release('install');
    release('browsers');
    // Its tests, too.
    await arrived('install');
    release('install');
    await Promise.all(['install', 'browsers'].map((name) => onlyResult(idOf(name))));
  });

  test('without the service: the result comes later, once; files that a drain left behind come with the next start', async () => {
    const id = idOf('tests');
    mayPass = () => false;
    release('tests');
    await until(() => ofSuites(drained.of).length === 0, 'the end of the suite');
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
    const last = startAgent(5, drained);
    await until(
      async () => (await onlyResult(id)).artifacts.every(({ state }) => state === 'stored'),
      'the file of the result',
      30_000,
    );
    last.kill('SIGTERM');
    expect(await last.exited).toBe(0);
    for (const name of stages) expect((await bench.results(idOf(name))).length, name).toBe(1);
  });

  // The lease runs out while the tests above go on.
  test('killed: its run comes again, once; drained with time, it ends, and its result and its files arrive', async () => {
    await arrived('crowd');
    second.kill('SIGTERM');
    await until(() => second.stderr().includes('"draining"'), 'the drain');
    release('crowd');
    expect(await second.exited).toBe(0);
    const result = await onlyResult(killed.checkId);
    expect(words(result)).toContain('went on');
    expect(result).toMatchObject({
      details: { exitCode: 0 },
      artifacts: [{ name: 'output.log', state: 'stored' }],
    });
    expect(ofSuites(killed.of)).toEqual([]);
    expect(readdirSync(join(dataDir(killed.of), 'runs'))).toEqual([]);
  });
});
