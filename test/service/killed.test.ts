import { spawnSync } from 'node:child_process';
import { mkdtemp, open, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiOf, killAll, readyLine, startProgram, until, type Program } from '../e2e/program.ts';
import { builtProgram } from '../helpers/build.ts';
import { fillDataDir } from '../helpers/service/database.ts';
import { startModel, type TestModel } from '../helpers/service/model-endpoint.ts';
import { startReceiver, type Receiver } from '../helpers/service/notification-targets.ts';
import { startProtocolAgents, type ProtocolAgents } from '../helpers/service/protocol-agents.ts';

/** The compiled service on its embedded database, killed at bad moments and with a disk that fills up. */

const apiKey = 'sk_a_key_of_this_test';
const locationKey = 'pl_a_key_of_this_test';
const megabyte = 1024 * 1024;
let folder = '';
let isSmallDisk = false;
let target: Receiver;
let model: TestModel;
let program: Program;
let url = '';
/** As `url`, for agents: they follow a service that starts again. */
const urls = [''];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'killed-'));
  const mount = ['-t', 'tmpfs', '-o', 'size=512m,mode=0700', 'tmpfs', folder];
  isSmallDisk = spawnSync('mount', mount, { stdio: 'ignore' }).status === 0;
  if (!isSmallDisk) {
    process.stderr.write('skipped here: a disk of the service that fills up, which needs a right to mount\n');
  }
  await fillDataDir(folder);
  target = await startReceiver();
  model = await startModel();
  await start();
}, 120_000);
afterAll(async () => {
  killAll();
  await target.close();
  await model.close();
  if (isSmallDisk) spawnSync('umount', ['-l', folder]);
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
    LOG_LEVEL: 'ERROR',
  });
  ({ serviceUrl: url } = await readyLine(program));
  urls[0] = url;
}

async function kill(): Promise<void> {
  program.kill('SIGKILL');
  await program.exited;
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await apiOf(url, apiKey)<T>(method, path, body);
  expect([path, answer]).toEqual([
    path,
    expect.objectContaining({ status: expect.toSatisfy((status: number) => status < 300) as number }),
  ]);
  return answer.body;
}

async function createCheck(): Promise<string> {
  const check = await call<{ id: string }>('POST', '/v1/checks/url', {
    name: 'Shop',
    privateLocations: ['local'],
    frequency: 1440,
    request: { url: 'https://shop.example/' },
    doubleCheck: false,
  });
  return check.id;
}
const runNow = (checkId: string) =>
  call('POST', '/v2/check-sessions/trigger', { target: { checkId: [checkId] } });
const failing = (): ProtocolAgents =>
  startProtocolAgents({
    urls,
    keys: [locationKey],
    count: 1,
    slots: 5,
    runMs: 1,
    statusOf: () => 'failed',
  });
const isAcknowledged = ({ runs }: ProtocolAgents) => runs.some(({ outcome }) => outcome === 'stored');
/** A run that fails, and whose result the service has acknowledged. */
async function failOnce(checkId: string): Promise<void> {
  const agents = failing();
  await runNow(checkId);
  await until(() => isAcknowledged(agents), 'the acknowledgement', 60_000);
  await agents.stop();
}
/** Ids of the results that count. */
const results = async (checkId: string) =>
  (await call<{ id: string }[]>('GET', `/v1/check-results/${checkId}?limit=100`)).map(({ id }) => id);

test(
  'the notification for an acknowledged result survives any exit of the service',
  { timeout: 180_000 },
  async () => {
    await call('POST', '/v1/alert-channels', {
      type: 'WEBHOOK',
      config: { url: target.url, template: '{{CHECK_ID}} {{ALERT_TYPE}}' },
    });
    const checkId = await createCheck();
    const agents = failing();
    await runNow(checkId);
    await until(() => isAcknowledged(agents), 'the acknowledgement', 60_000);
    await kill();
    await agents.stop();

    await start();
    type Logged = { id: string; status: string; alertType: string };
    const [logged, ...others] = await until(
      async () => {
        const log = await call<Logged[]>('GET', `/v1/alert-notifications?checkId=${checkId}`);
        return log.length > 0 && log.every(({ status }) => status === 'SUCCESS') ? log : null;
      },
      'the notification',
      60_000,
    );
    expect([logged?.alertType, others]).toEqual(['ALERT_FAILURE', []]);
    // Once, or again with the same id if the service was killed before it logged the delivery.
    const received = target.received.filter(({ body }) => body.startsWith(checkId));
    expect(received.length).toBeGreaterThan(0);
    for (const { body, headers } of received) {
      expect([body, headers['x-service-delivery']]).toEqual([`${checkId} ALERT_FAILURE`, logged?.id]);
    }
  },
);

test('an analysis by a model survives a kill of the service', { timeout: 180_000 }, async () => {
  const checkId = await createCheck();
  await failOnce(checkId);
  const group = await until(
    async () => (await call<{ id: string }[]>('GET', `/v1/error-groups/checks/${checkId}`))[0] ?? null,
    'the error group',
    30_000,
  );
  model.answers.push({ silence: true });
  const asked = await call<{ id: string; status: string }>(
    'POST',
    `/v1/root-cause-analyses/error-groups/${group.id}`,
    {},
  );
  expect(asked.status).toBe('PENDING');
  await until(() => model.asked.length === 1, 'the call of the model', 30_000);
  await kill();

  model.answers.push('{"classification":"APPLICATION_ERROR","userImpact":"none","rootCause":"a release"}');
  await start();
  type Read = { status: string; provider?: string };
  const read = () => call<Read>('GET', `/v1/root-cause-analyses/${asked.id}`);
  expect((await read()).status).toBe('PENDING');
  const done = await until(
    async () => {
      const analysis = await read();
      return analysis.status === 'COMPLETED' ? analysis : null;
    },
    'the analysis',
    90_000,
  );
  expect(done.provider).toBe('openai-compatible');
  expect(model.asked).toHaveLength(2);
  const keys = await readFile(join(folder, 'keys.json'), 'utf8').catch(() => '');
  expect(keys).not.toContain('model-key-1234');
});

test('a disk that fills up costs no result, and none twice', { timeout: 180_000 }, async (context) => {
  if (!isSmallDisk) return context.skip('no right to mount a small disk');
  const checkId = await createCheck();
  await failOnce(checkId);
  const before = await results(checkId);
  const ballast = join(folder, 'ballast');
  /** Writes until this number of bytes is left. */
  const fill = async (left: number) => {
    const handle = await open(ballast, 'a');
    const zeros = Buffer.alloc(megabyte);
    for (;;) {
      const { bavail, bsize } = await statfs(folder);
      const more = Math.min(megabyte, bavail * bsize - left);
      if (more <= 0) break;
      // The service may take the last bytes first.
      const isWritten = await handle.write(zeros, 0, more).then(
        () => true,
        () => false,
      );
      if (!isWritten) break;
    }
    await handle.close();
  };

  // All but full: the database waits, and so do the agents with what they have.
  await runNow(checkId);
  await fill(16 * megabyte);
  const refused = async () => {
    const { status, body } = await apiOf(url, apiKey)<{ message?: string }>('GET', '/v1/checks');
    return status === 507 && body.message?.startsWith("The service's disk is full");
  };
  await until(refused, 'the service to see the disk', 30_000);
  const agents = failing();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(isAcknowledged(agents)).toBe(false);
  await rm(ballast);
  await until(() => isAcknowledged(agents), 'the result, once there is room', 60_000);
  await agents.stop();
  expect(await results(checkId)).toHaveLength(before.length + 1);

  // Full to the last byte from one moment to the next, while there is much to write: it may end, but what it has said holds.
  const writing = failing();
  const created: string[] = [];
  const making = (async () => {
    for (let made = 0; made < 500; made++) {
      const body = { key: `V${made}`, value: 'x'.repeat(20_000) };
      const answer = await apiOf(url, apiKey)('POST', '/v1/variables', body).catch(() => null);
      if (answer?.status !== 201) return;
      created.push(body.key);
    }
  })();
  await runNow(checkId);
  await fill(0);
  await making;
  await rm(ballast);
  await kill();
  await start();
  const kept = await call<{ key: string }[]>('GET', '/v1/variables?limit=100');
  expect(kept.map(({ key }) => key)).toEqual(expect.arrayContaining(created.slice(0, 100)));
  await until(() => isAcknowledged(writing), 'the last result', 60_000);
  await writing.stop();
  const after = await results(checkId);
  expect([after.length, new Set(after).size]).toEqual([before.length + 2, before.length + 2]);
  expect(after).toEqual(expect.arrayContaining(before));
});

test('it exits on SIGTERM', async () => {
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  // For tests that come after this one.
  await start();
});
