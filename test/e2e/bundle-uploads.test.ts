import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace, type ServicePlace } from '../helpers/database.ts';
import { killAll, readyLine, startProgram, until, type Program, type ReadyLine } from './program.ts';

/** Code bundles and the whole service as a process: how much memory an upload takes, and what a killed one leaves. */

let place: ServicePlace;
let folder = '';
let program: Program;
let ready: ReadyLine;

async function start(): Promise<void> {
  const env = {
    ...place.env,
    SERVICE_PORT: '0',
    SERVICE_RATE_LIMIT: '0',
    LOG_LEVEL: 'ERROR',
  };
  program = startProgram(await builtProgram(), ['service'], env);
  ready = await readyLine(program);
}

beforeAll(async () => {
  // Its memory is measured with its database in it.
  place = await servicePlace({ embedded: true });
  folder = place.env.SERVICE_DATA_DIR;
  await start();
}, 120_000);
afterAll(async () => {
  killAll();
  await place.remove();
});

const filesBelow = () =>
  readdirSync(join(folder, 'bundles'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
const keys = () => {
  const { apiKey, locationKey } = JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8')) as {
    apiKey: string;
    locationKey: string;
  }; // the service wrote it
  return { apiKey, locationKey };
};
const headers = () => ({
  authorization: `Bearer ${keys().apiKey}`,
  'content-type': 'application/octet-stream',
});
const residentBytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

test('an upload and a download take as little memory whatever their size', { timeout: 60_000 }, async () => {
  const size = 100 * 1024 * 1024;
  const chunk = randomBytes(1024 * 1024);
  const first = Buffer.concat([gzipSync(''), chunk]).subarray(0, chunk.length);
  const before = residentBytes(program.pid);
  let highest = 0;
  const watch = setInterval(() => (highest = Math.max(highest, residentBytes(program.pid))), 20);
  const hash = createHash('sha256');
  const uploaded = await new Promise<{ status: number; body: { key: string } }>((resolve, reject) => {
    const request = httpRequest(
      `${ready.serviceUrl}/v1/playwright-bundles`,
      { method: 'POST', headers: { ...headers(), 'content-length': size } },
      (response) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as { key: string } }),
        );
      },
    );
    request.on('error', reject);
    let sent = 0;
    const next = (): void => {
      for (;;) {
        const part = sent === 0 ? first : chunk;
        if (sent >= size) return void request.end();
        sent += part.length;
        hash.update(part);
        if (!request.write(part)) return void request.once('drain', next);
      }
    };
    next();
  });
  const digest = hash.digest('hex');
  expect(uploaded).toMatchObject({ status: 201, body: { key: digest, digest, size } });
  const answer = await fetch(`${ready.serviceUrl}/agent/v1/bundles/${digest}`, {
    headers: { authorization: `Bearer ${keys().locationKey}` },
  });
  const again = createHash('sha256');
  for await (const part of answer.body ?? []) again.update(part);
  clearInterval(watch);
  expect(again.digest('hex')).toBe(digest);
  // Buffers under way and the collector's leisure, but not the 100 MB.
  const grown = Math.round((highest - before) / 1024 / 1024);
  expect(grown, `grew by ${grown} MB`).toBeLessThan(70);
});

test(
  'a service that is killed in an upload leaves nothing after its next start',
  { timeout: 60_000 },
  async () => {
    const there = filesBelow();
    const request = httpRequest(`${ready.serviceUrl}/v1/playwright-bundles`, {
      method: 'POST',
      headers: { ...headers(), 'content-length': 10_000_000 },
    });
    request.on('error', () => undefined);
    request.write(gzipSync(randomBytes(3_000_000)));
    await until(() => filesBelow().some((name) => name.endsWith('.part')), 'a half upload');
    program.kill('SIGKILL');
    await program.exited;
    expect(filesBelow()).toHaveLength(there.length + 1);
    await start();
    expect(filesBelow()).toEqual(there);
    const bundles = await fetch(`${ready.serviceUrl}/v1/playwright-bundles`, { headers: headers() });
    expect(await bundles.json()).toHaveLength(there.length);
    request.destroy();
  },
);
