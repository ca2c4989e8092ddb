import { createLog } from '../../../src/log.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readAnalysisConfig, type AnalysisConfig, type ModelEndpoint } from '../../../src/config/analysis.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { endLostAnalyses, handleAnalyses } from '../../../src/service/analyses/analyse.ts';
import { analysisOf } from '../../../src/service/analyses/analysis-of-alert.ts';
import { analyseByModel } from '../../../src/service/analyses/ask-model.ts';
import type { Facts } from '../../../src/service/analyses/facts.ts';
import { analyseNewGroups } from '../../../src/service/analyses/queue.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createEncryption } from '../../../src/service/engine/encryption.ts';
import { createErrorFollower } from '../../../src/service/error-groups/follow-errors.ts';
import { createFinishedRuns } from '../../../src/service/results/finished-runs.ts';
import { addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import { endRuns } from '../../helpers/service/alert-runs.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startModel, type TestModel } from '../../helpers/service/model-endpoint.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Root cause analyses from the request to the answer, by the rules and by a model. */

const start = Date.parse('2026-03-01T12:00:00Z');
const encryption = createEncryption('a key for tests of analyses');
const clock = createClock(start);
const secret = 'a-very-secret-value-42';
const unset = readAnalysisConfig({});
let config: AnalysisConfig = unset;
let db: Db;
let background: Background;
let service: TestService;
let model: TestModel;
let checkId = '';
const told: string[] = [];

beforeAll(async () => {
  db = await anyDatabase.open();
  model = await startModel();
  background = createBackground({ db, log: silent });
  handleAnalyses(background, {
    db,
    encryption,
    log: createLog({
      level: 'WARN',
      scrub: (line) => line,
      destination: { write: (line) => void told.push(line) },
    }),
    now: clock.now,
    modelTimeoutMs: 2_000,
    // As it is when an item is taken.
    config: {
      ...unset,
      get endpoint() {
        return config.endpoint;
      },
    },
  });
  await background.prepare();
  service = await startTestService(db, { now: clock.now, background, encryption });
});
beforeEach(async () => {
  config = unset;
  model.asked.length = 0;
  model.answers.length = 0;
  told.length = 0;
  const variable = { key: 'PASSWORD', value: encryption.seal(secret), locked: false, secret: true };
  checkId = await addCheck(db, {
    accountId: service.account.id,
    now: start,
    definition: { environmentVariables: [variable] },
  });
});
afterAll(async () => {
  await service.close();
  await background.stop();
  await model.close();
  await anyDatabase.close();
});

async function fail(isAutomatic = false): Promise<string> {
  await endRuns(db, [
    {
      checkId,
      accountId: service.account.id,
      at: start,
      parts: [
        {
          status: 'failed',
          message: `no answer within 10 s (${secret})`,
          details: { response: { status: 503, headers: { authorization: 'Bearer abcdefgh' } }, echo: secret },
        },
      ],
    },
  ]);
  const onNew = isAutomatic ? analyseNewGroups(background, clock.now) : undefined;
  await createFinishedRuns({
    db,
    followers: [createErrorFollower(onNew)],
    now: clock.now,
    log: silent,
  }).tick();
  const groups = await service.call<Fields[]>('GET', `/v1/error-groups/checks/${checkId}`);
  return String(groups.body[0]?.['id']);
}
const ask = (groupId: string, body?: object) =>
  service.call('POST', `/v1/root-cause-analyses/error-groups/${groupId}`, { body });
const read = (id: unknown) => service.call('GET', `/v1/root-cause-analyses/${String(id)}`);

test('an analysis is accepted, pending, and complete by the rules', async () => {
  const groupId = await fail();
  const accepted = await ask(groupId);
  expect(accepted).toMatchObject({ status: 202, body: { status: 'PENDING' } });
  const { id } = accepted.body;
  expect(await read(id)).toMatchObject({ status: 202, body: { id, status: 'PENDING' } });
  await background.tick();
  const done = await read(id);
  expect(done).toMatchObject({
    status: 200,
    body: {
      status: 'COMPLETED',
      provider: 'builtin',
      model: 'rules',
      checkId,
      errorGroupId: groupId,
      checkType: 'URL',
    },
  });
  expect((await service.call('GET', `/v1/error-groups/${groupId}`)).body['rootCauseAnalyses']).toMatchObject([
    { id, status: 'COMPLETED', classification: 'INFRASTRUCTURE_ERROR' },
  ]);
  expect(
    (await service.call('GET', `/v1/root-cause-analyses/${String(id)}`, { key: service.foreign.key })).status,
  ).toBe(404);
  expect((await read('none')).status).toBe(404);
  const alert = { accountId: service.account.id, checkId, error: `no answer within 12 s (${secret})` };
  expect((await analysisOf(db, alert))?.id).toBe(id);
  expect(await analysisOf(db, { ...alert, accountId: service.foreign.id })).toBeUndefined();
});

test('the context is bounded, and unknown fields are named', async () => {
  const groupId = await fail();
  expect((await ask(groupId, { userContext: null })).status).toBe(202);
  expect((await ask(groupId, { userContext: 'x'.repeat(256) })).status).toBe(202);
  for (const body of [{ userContext: 'x'.repeat(257) }, { userContext: 7 }, { other: 1 }]) {
    expect((await ask(groupId, body)).status).toBe(400);
  }
  await background.tick();
});

test('a model gives a valid analysis after one correction, and gets no secret', async () => {
  config = { ...unset, endpoint: model.endpoint };
  model.answers.push(
    'I think that it is broken.',
    '```json\n{"classification":"APPLICATION_ERROR","userImpact":"none","rootCause":"a release","evidence":[{"description":"503","artifacts":[{"name":"made-up.zip","type":"trace"}]}],"referenceLinks":[]}\n```',
  );
  const { id } = (await ask(await fail(), { userContext: `we released; ${secret}` })).body;
  await background.tick();
  expect((await read(id)).body).toMatchObject({
    provider: 'openai-compatible',
    model: 'test-model',
    analysis: {
      classification: 'APPLICATION_ERROR',
      codeFix: null,
      evidence: [{ artifacts: [], description: '503' }],
    },
  });
  expect(model.asked).toHaveLength(2);
  expect(model.asked[0]?.key).toBe('Bearer model-key-1234');
  const sent = JSON.stringify(model.asked.map(({ body }) => body));
  expect(sent).toContain('we released');
  expect(sent).not.toContain(secret);
  expect(sent).not.toContain('abcdefgh');
});

const key = 'model-key-1234';
const refused = { url: 'http://127.0.0.1:1/v1', key: new Secret(key), model: 'test-model' };

test.each<[string, TestModel['answers'], string, ModelEndpoint?]>([
  ['is of no use twice', ['{}', '{"classification": 1}'], 'is not an analysis'],
  ['fails', [500], 'answered 500'],
  [
    'refuses the key, and repeats it',
    [{ raw: `no such key: ${key}`, status: 401 }],
    'answered 401: no such key: ***',
  ],
  ['limits its calls', [429], 'answered 429'],
  ['sends us elsewhere', [307], 'answered 307'],
  ['says nothing', [''], 'is empty'],
  ['does not answer', [{ silence: true }], 'did not answer within 2 s'],
  ['speaks no JSON', [{ raw: '<html>busy</html>' }], 'is not JSON'],
  ['speaks another JSON', [{ raw: '{"choices": {"0": null}}' }], 'is empty'],
  ['does not stop', [{ raw: 'x'.repeat(3_000_000) }], 'is longer than'],
  ['is not there', [], 'could not be reached (ECONNREFUSED)', refused],
])(
  'the rules analyse when the model %s, and the log has the reason',
  async (_what, answers, why, endpoint) => {
    config = { ...unset, endpoint: endpoint ?? model.endpoint };
    model.answers.push(...answers);
    const { id } = (await ask(await fail())).body;
    await background.tick();
    expect((await read(id)).body).toMatchObject({ status: 'COMPLETED', provider: 'builtin' });
    expect(told.join('')).toContain(why);
    expect(told.join('')).not.toContain(key);
    expect(told.join('')).not.toContain(secret);
  },
);

test('an analysis whose work is lost does not stay pending', async () => {
  const { id } = (await ask(await fail())).body;
  await endLostAnalyses(db, start + 3_599_000);
  expect((await read(id)).status).toBe(202);
  await endLostAnalyses(db, start + 3_601_000);
  expect(await read(id)).toMatchObject({ status: 200, body: { analysis: { classification: 'UNKNOWN' } } });
  await background.tick();
  expect((await read(id)).body).toMatchObject({ analysis: { classification: 'UNKNOWN' } });
});

test('endless braces do not block the service', async () => {
  const facts = {
    check: { name: '' },
    group: { rawErrorMessage: null, cleanedErrorMessage: '', firstSeen: new Date(), lastSeen: new Date() },
    latest: null,
    userContext: '',
    inGroup: [],
    passed: [],
    otherFailed: [],
  };
  model.answers.push('{'.repeat(900_000), '}{'.repeat(400_000));
  const asking = analyseByModel(model.endpoint, facts as unknown as Facts, {
    secrets: [],
    signal: AbortSignal.timeout(20_000),
    timeoutMs: 20_000,
  });
  await expect(asking).rejects.toThrow('is not an analysis');
});

test('the first error of a group is analysed where that is wanted', async () => {
  const groupId = await fail(true);
  await background.tick();
  expect((await service.call('GET', `/v1/error-groups/${groupId}`)).body['rootCauseAnalyses']).toMatchObject([
    { status: 'COMPLETED' },
  ]);
});

test.each([
  [{}, null],
  [{ ANALYSIS_API_URL: 'https://models.example/v1/', ANALYSIS_MODEL: 'm' }, 'https://models.example/v1'],
])('the configuration %j', (env, expected) => {
  expect(readAnalysisConfig(env).endpoint?.url ?? null).toBe(expected);
});

test.each([
  [{ ANALYSIS_API_URL: 'https://models.example/v1' }, 'ANALYSIS_MODEL is required'],
  [{ ANALYSIS_MODEL: 'm' }, 'ANALYSIS_API_URL is required'],
  [
    { ANALYSIS_API_URL: 'ftp://models.example', ANALYSIS_MODEL: 'm' },
    'ANALYSIS_API_URL must begin with http://',
  ],
  [{ ANALYSIS_AUTOMATIC: 'perhaps' }, 'ANALYSIS_AUTOMATIC must be true or false'],
])('the configuration %j is refused', (env, message) => {
  expect(() => readAnalysisConfig(env)).toThrow(message);
});
