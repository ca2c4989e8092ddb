import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../src/log.ts';
import { buildApp } from '../src/service/app.ts';
import { migrate } from '../src/service/db/migrate.ts';
import { openDatabase } from '../src/service/db/open-database.ts';
import { createBackground } from '../src/service/engine/background.ts';
import { createEncryption } from '../src/service/engine/encryption.ts';
import { uuidv7 } from '../src/service/engine/ids.ts';

/** A project of 1,000 checks on the embedded database: the plan of new checks, their deployment, and a plan without changes. */

const limitSeconds = 10;
const checks = 1000;
const log = createLog({ level: 'WARN', scrub: (line) => line });

const resources = [
  {
    type: 'alert-channel',
    logicalId: 'mail',
    payload: { type: 'EMAIL', config: { address: 'ops@shop.example' } },
  },
  ...Array.from({ length: checks }, (_, number) => ({
    type: 'check',
    logicalId: `check-${number}`,
    payload: {
      checkType: 'URL',
      name: `Check ${number}`,
      locations: ['eu-west-1'],
      tags: ['shop'],
      request: { url: `https://shop.example/${number}` },
      alertChannelSubscriptions: [{ alertChannelId: { ref: 'mail' }, activated: true }],
    },
  })),
];

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bench-'));
  const db = await openDatabase({ databaseUrl: null, dataDir });
  await migrate(db);
  const [id, key] = [uuidv7(), `key_${randomBytes(16).toString('hex')}`];
  await db.query('insert into accounts (id, name) values ($1, $2)', [id, 'bench']);
  await db.query(
    'insert into api_keys (id, account_id, name, key_hash, masked_key) values ($1, $2, $3, $4, $5)',
    [uuidv7(), id, 'bench', createHash('sha256').update(key).digest(), '...'],
  );
  const background = createBackground({ db, log });
  const app = await buildApp({ db, encryption: createEncryption('bench'), now: Date.now, background });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/v1/projects`; // it listens on TCP
  const call = async (path: string, body?: string): Promise<{ status: number; json: unknown }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(
      `${base}${path}`,
      body === undefined ? { headers } : { method: 'POST', headers, body },
    );
    return { status: answer.status, json: await answer.json() };
  };
  const body = JSON.stringify({ project: { logicalId: 'shop', name: 'Shop' }, resources });
  const plan = async () => {
    const { status, json } = await call('/deploy?dryRun=true', body);
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
  };
  const deploy = async () => {
    const started = (await call('/deploy', body)).json as { id: string };
    for (;;) {
      const { status, json } = await call(`/shop/deployments/${started.id}/completion`);
      if (status === 408) continue;
      const ended = json as { status: string; error: unknown };
      if (ended.status !== 'SUCCEEDED') throw new Error(JSON.stringify(ended.error));
      return;
    }
  };
  const figures: { [name: string]: { seconds: number; cpuSeconds: number } } = {};
  for (const [name, work] of [
    ['plan of new checks', plan],
    ['deployment', deploy],
    ['plan without changes', plan],
  ] as const) {
    const before = process.cpuUsage();
    const began = performance.now();
    await work();
    const { user, system } = process.cpuUsage(before);
    const seconds = Number(((performance.now() - began) / 1000).toFixed(2));
    const cpuSeconds = Number(((user + system) / 1e6).toFixed(2));
    figures[name] = { seconds, cpuSeconds };
    console.log(`${name.padEnd(22)} ${seconds} s, ${cpuSeconds} s of processor`);
  }
  await app.close();
  await db.close();
  await rm(dataDir, { recursive: true });
  const ours = Math.max(...Object.values(figures).map(({ seconds }) => seconds));
  const machine = `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.versions.node}`;
  const ratio = Number((ours / limitSeconds).toFixed(2));
  console.log(
    JSON.stringify({
      name: 'projects',
      unit: 's',
      ours,
      peer: null,
      limit: limitSeconds,
      ratio,
      figures,
      machine,
    }),
  );
  process.exitCode = ratio <= 1 ? 0 : 1;
}

await main();
