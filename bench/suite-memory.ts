/**
 * A Playwright suite of 1,000 tests, each with a trace, through an agent to a service, with the compiled programs and the real
 * Playwright. Measured: the agent's memory above idle, from the claim until the last file is stored (only the agent's own process;
 * the tests run in others). Limit: 150 MB. Argument: number of tests (1000).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packBundle } from '../src/script/suite/bundle/pack.ts';
import { machine, report, rssMb, startProgram, stopChild, temporaryFolder } from './lib/processes.ts';
import { installerVariables, makeProject } from './lib/suite-project.ts';

const tests = Number(process.argv[2] ?? 1000);
const limitMb = 150;
const waitMs = 15 * 60_000;
const main = join(process.cwd(), 'dist', 'main.js');
const folder = temporaryFolder();

type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Session = { status: string; results: { checkResultId: string }[] };
type Result = {
  status: string;
  reason: { message: string } | null;
  details: { totals: { tests: number; passed: number } };
  artifacts: { state: string; size: number }[];
};

const project = makeProject(join(folder, 'project'), {
  'playwright.config.ts': `
import { defineConfig } from '@playwright/test';
export default defineConfig({ workers: 2, retries: 0, fullyParallel: true, reporter: 'dot' });`,
  'many.spec.ts': `
import { test, expect } from '@playwright/test';
for (let number = 0; number < ${tests}; number++) {
  test('test ' + number, async ({}, info) => {
    await test.step('looks at the token', () => console.log(number, 'the token is', process.env.TOKEN));
    if (number % 10 === 0) await info.attach('token', { body: String(process.env.TOKEN).repeat(1000), contentType: 'text/plain' });
    expect(number).toBeLessThan(${tests});
  });
}`,
});

const started: ChildProcess[] = [];
try {
  const service = await startProgram<{ serviceUrl: string; keysFile: string }>(
    process.execPath,
    [main, 'service'],
    { SERVICE_PORT: '0', SERVICE_DATA_DIR: join(folder, 'service'), LOG_LEVEL: 'ERROR' },
  );
  started.push(service.child);
  const { serviceUrl, keysFile } = service.hello;
  const keys = JSON.parse(readFileSync(keysFile, 'utf8')) as Keys; // the service has just written it
  const agent = spawn(process.execPath, [main, 'start'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      ...installerVariables(),
      SERVICE_URL: serviceUrl,
      API_KEY: keys.locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'agent'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  started.push(agent);
  await once(agent.stderr, 'data');
  await pause(10_000);
  const pid = agent.pid ?? 0;
  const idleMb = rssMb(pid);

  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(serviceUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${keys.apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T; // the service's own answer
  };
  const archive = join(folder, 'bundle.tar.gz');
  await packBundle({ folder: project, to: archive });
  const uploaded = await fetch(`${serviceUrl}/v1/playwright-bundles`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.apiKey}`, 'content-type': 'application/octet-stream' },
    body: readFileSync(archive),
  });
  const { key } = (await uploaded.json()) as { key: string };
  const check = await call<{ id: string }>('POST', '/v1/checks/playwright', {
    name: 'many',
    codeBundlePath: key,
    privateLocations: [keys.locationSlug],
    frequency: 1440,
    environmentVariables: [{ key: 'TOKEN', value: 'a-secret-of-the-check-7741', secret: true }],
  });
  const { sessions } = await call<{ sessions: { checkSessionId: string }[] }>(
    'POST',
    '/v2/check-sessions/trigger',
    { target: { checkId: [check.id] } },
  );
  let peakMb = idleMb;
  const sampler = setInterval(() => (peakMb = Math.max(peakMb, rssMb(pid))), 25);
  const began = performance.now();
  const result = await untilStored(async () => {
    const session = await call<Session>('GET', `/v2/check-sessions/${sessions[0]?.checkSessionId}`);
    const id = session.results[0]?.checkResultId;
    return id === undefined ? null : call<Result>('GET', `/v1/check-results/${check.id}/${id}`);
  });
  clearInterval(sampler);
  const seconds = (performance.now() - began) / 1000;
  const { totals } = result.details;
  if (totals.passed !== tests) throw new Error(`${JSON.stringify(totals)} ${result.reason?.message ?? ''}`);
  const megabytes = result.artifacts.reduce((sum, { size }) => sum + size, 0) / 1024 ** 2;
  const aboveMb = peakMb - idleMb;
  console.log(
    `${tests} tests, ${result.artifacts.length} files of ${megabytes.toFixed(1)} MB, ${seconds.toFixed(0)} s, ${machine}\n`,
  );
  console.log(`agent idle           ${idleMb.toFixed(0).padStart(6)} MB`);
  console.log(`agent above idle     ${aboveMb.toFixed(0).padStart(6)} MB     at most ${limitMb}`);
  report({
    name: 'suite-memory',
    unit: 'MB',
    ours: aboveMb,
    peer: null,
    limit: limitMb,
    ratio: aboveMb / limitMb,
  });
  process.exitCode = aboveMb <= limitMb ? 0 : 1;
} finally {
  for (const child of started.reverse()) await stopChild(child);
  rmSync(folder, { recursive: true, force: true });
}

async function untilStored(look: () => Promise<Result | null>): Promise<Result> {
  for (const end = performance.now() + waitMs; performance.now() < end;) {
    const result = await look();
    if (result !== null && !result.artifacts.some(({ state }) => state === 'pending')) return result;
    await pause(1000);
  }
  throw new Error('the suite has not ended');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
