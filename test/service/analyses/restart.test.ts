import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killAll, readyLine, startProgram, until, type Program } from '../../e2e/program.ts';
import { builtProgram } from '../../helpers/build.ts';
import { startModel, type TestModel } from '../../helpers/model-endpoint.ts';
import { startProtocolAgents, type ProtocolAgents } from '../../helpers/protocol-agents.ts';

/** The compiled service is killed while a model makes an analysis: the analysis is there after the next start. */

const apiKey = 'sk_a_key_of_this_test';
const locationKey = 'pl_a_key_of_this_test';
let folder = '';
let model: TestModel;
let agents: ProtocolAgents | undefined;
let program: Program;
let url = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'analysis-restart-'));
  model = await startModel();
});
afterAll(async () => {
  await agents?.stop();
  killAll();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  program = startProgram(await builtProgram(), ['service'], {
    SERVICE_PORT: '0',
    SERVICE_DATA_DIR: folder,
    SERVICE_API_KEY: apiKey,
    SERVICE_LOCATION_KEY: locationKey,
    ANALYSIS_API_URL: model.endpoint.url,
    ANALYSIS_API_KEY: 'model-key-1234',
    ANALYSIS_MODEL: 'test-model',
  });
  ({ serviceUrl: url } = await readyLine(program));
}

async function call<T>(method: string, path: string, body?: object): Promise<{ status: number; body: T }> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as T };
}

test('an analysis survives a kill of the service', { timeout: 180_000 }, async () => {
  await start();
  const check = await call<{ id: string }>('POST', '/v1/checks/url', {
    name: 'Shop',
    privateLocations: ['local'],
    frequency: 60,
    request: { url: 'https://shop.example/', assertions: [] },
  });
  expect(check.status).toBe(201);
  agents = startProtocolAgents({
    urls: [url],
    keys: [locationKey],
    count: 1,
    slots: 5,
    runMs: 1,
    statusOf: () => 'failed',
  });
  await call('POST', '/v2/check-sessions/trigger', { target: { checkId: [check.body.id] } });
  const group = await until(
    async () => (await call<{ id: string }[]>('GET', `/v1/error-groups/checks/${check.body.id}`)).body[0],
    'the error group',
    60_000,
  );
  await agents.stop();
  model.answers.push({ silence: true });
  const asked = await call<{ id: string; status: string }>(
    'POST',
    `/v1/root-cause-analyses/error-groups/${group.id}`,
    {},
  );
  expect(asked).toMatchObject({ status: 202, body: { status: 'PENDING' } });
  await until(() => model.asked.length === 1, 'the call of the model', 30_000);
  program.kill('SIGKILL');
  await program.exited;

  model.answers.push('{"classification":"APPLICATION_ERROR","userImpact":"none","rootCause":"a release"}');
  await start();
  const read = () =>
    call<{ status: string; provider?: string }>('GET', `/v1/root-cause-analyses/${asked.body.id}`);
  expect((await read()).body.status).toBe('PENDING');
  const done = await until(
    async () => {
      const answer = await read();
      return answer.status === 200 ? answer : null;
    },
    'the analysis',
    90_000,
  );
  expect(done.body).toMatchObject({ status: 'COMPLETED', provider: 'openai-compatible' });
  expect(model.asked).toHaveLength(2);
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  const keys = await readFile(join(folder, 'keys.json'), 'utf8').catch(() => '');
  expect(keys).not.toContain('model-key-1234');
});
