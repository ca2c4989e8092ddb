import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer, request as httpRequest, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasSuites } from '../helpers/suites.ts';
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
  const ofSuites = (of = 'agent') => bench.ofSuites(dataDir(of));
  const startAgent = (graceSeconds: number, of = 'agent', key?: string): Program =>
    bench.startAgent({
      data: dataDir(of),
      graceSeconds,
      serviceUrl: gate,
      ...(key === undefined ? {} : { key }),
    });
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

  const killed = { checkId: '', data: 'killed' };
  let second: Program;

  test('killed: nothing of the suite is left', async () => {
    const { data } = killed;
    const key = await keyOfLocation('killed');
    const first = startAgent(60, data, key);
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
    second = startAgent(60, data, key);
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
    // Each at a location of its own, with its own agents, so that they need not wait for each other.
    const handBack = async ([name, fields]: [string, object]): Promise<void> => {
      const key = await keyOfLocation(name);
      const agent = startAgent(0, name, key);
      const id = await trigger(name, quick, { ...fields, privateLocations: [name] });
      await arrived(name);
      waiting.delete(name);
      agent.kill('SIGTERM');
      expect(await agent.exited, name).not.toBeNull();
      expect(ofSuites(name), name).toEqual([]);
      expect(await bench.results(id), name).toEqual([]);
      // Nobody waits for a lease to run out.
      const next = startAgent(60, name, key);
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
      expect((await bench.results(id)).length, name).toBe(1);
    };
    await Promise.all(Object.entries(stages).map(handBack));
  });

  test('without the service: the result comes later, once; files that a drain left behind come with the next start', async () => {
    const agent = startAgent(1);
    const id = await trigger('away', quick);
    await arrived('away');
    mayPass = () => false;
    release('away');
    await until(() => ofSuites().length === 0, 'the end of the suite');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await bench.results(id)).toEqual([]);
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
