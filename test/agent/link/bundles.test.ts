import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBundleFetcher, type BundleFetcherOptions } from '../../../src/agent/link/bundles.ts';
import { createTransport, type Transport } from '../../../src/agent/link/transport.ts';
import type { FatalError } from '../../../src/errors.ts';

/** Serves bytes as the service does; each request may be answered by `misbehave` instead. */
type Misbehave = (request: IncomingMessage, response: ServerResponse, nth: number) => boolean;

let folder: string;
let bytes: Buffer;
let server: http.Server;
let transport: Transport;
let misbehave: Misbehave = () => false;
let asked: (string | undefined)[] = [];

beforeAll(async () => {
  server = http.createServer((request, response) => {
    asked.push(request.headers.range);
    if (misbehave(request, response, asked.length)) return;
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bundles-'));
  bytes = randomBytes(600_000);
  asked = [];
  misbehave = () => false;
  transport = await createTransport({
    serviceUrl: serviceUrl(),
    proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
    extraCaFile: null,
    headers: { authorization: 'Bearer pl_key' },
  });
});
afterEach(async () => {
  transport.close();
  await rm(folder, { recursive: true, force: true });
});

const serviceUrl = () => new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`); // a TCP server has this kind

function answer(request: IncomingMessage, response: ServerResponse, upTo = bytes.length): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const part = bytes.subarray(start, upTo);
  const whole = { 'content-length': bytes.length - start, 'content-type': 'application/octet-stream' };
  if (start === 0) response.writeHead(200, whole);
  else
    response.writeHead(206, {
      ...whole,
      'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
    });
  if (upTo === bytes.length) return void response.end(part);
  response.write(part, () => setTimeout(() => response.destroy(), 5));
}

function refuse(response: ServerResponse, status: number, message = 'no'): true {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message, attributes: {} }));
  return true;
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const bundle = () => ({ key: 'bundle-1', digest: digestOf(bytes), size: bytes.length });
const cache = () => join(folder, 'bundles');
const fetcher = (options: Partial<BundleFetcherOptions> = {}) =>
  createBundleFetcher({
    transport,
    serviceUrl: serviceUrl(),
    folder: cache(),
    onKeyRefused: () => undefined,
    now: Date.now,
    random: () => 0,
    ...options,
  });
const target = (name = 'bundle.tgz') => join(folder, name);
const never = new AbortController().signal;

async function failureOf(work: Promise<unknown>): Promise<{ name: string; code: string; message: string }> {
  const error = (await work.then(
    () => new Error('it came'),
    (thrown: unknown) => thrown,
  )) as Error & { code?: string }; // our own errors have a code
  return { name: error.name, code: error.code ?? '', message: error.message };
}

test('a bundle is downloaded once and reused by later runs', async () => {
  const fetch = fetcher();
  await fetch(bundle(), { path: target(), signal: never });
  await fetch(bundle(), { path: target('again'), signal: never });
  await fetcher()(bundle(), { path: target('later'), signal: never });
  for (const name of ['bundle.tgz', 'again', 'later'])
    expect(bytes.equals(await readFile(target(name)))).toBe(true);
  expect(asked).toEqual([undefined]);
  expect(await readdir(cache())).toEqual([`${bundle().digest}.tgz`]);
});

test('runs at the same time share a download', async () => {
  const fetch = fetcher();
  await Promise.all(['a', 'b', 'c'].map((name) => fetch(bundle(), { path: target(name), signal: never })));
  expect(asked).toHaveLength(1);
  // Another agent on the same folder, both at once.
  bytes = randomBytes(100_000);
  await Promise.all(
    [fetcher(), fetcher()].map((each, i) => each(bundle(), { path: target(`x${i}`), signal: never })),
  );
  expect(bytes.equals(await readFile(target('x1')))).toBe(true);
  expect((await readdir(cache())).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('an interrupted download resumes', async () => {
  misbehave = (request, response, nth) => {
    if (nth > 3) return false;
    answer(request, response, nth * 150_000);
    return true;
  };
  await fetcher()(bundle(), { path: target(), signal: never });
  expect(bytes.equals(await readFile(target()))).toBe(true);
  expect(asked[0]).toBe(undefined);
  expect(asked).toHaveLength(4);
  const starts = asked.slice(1).map((range) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]));
  expect(starts.every((start, i) => start > 0 && start <= (i + 1) * 150_000)).toBe(true);
  expect(starts).toEqual([...starts].sort((a, b) => a - b));
});

test('a service that knows no ranges sends all of it again', async () => {
  misbehave = (request, response, nth) => {
    if (nth === 1) answer(request, response, 200_000);
    else response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
    return true;
  };
  await fetcher()(bundle(), { path: target(), signal: never });
  expect(bytes.equals(await readFile(target()))).toBe(true);
});

test('refusals, strangers and a busy service', async () => {
  misbehave = (_request, response, nth) => {
    if (nth === 1) return refuse(response, 503);
    if (nth === 2) return Boolean(response.writeHead(404).end('a portal'));
    if (nth === 3) return Boolean(response.destroy());
    return false;
  };
  await fetcher()(bundle(), { path: target(), signal: never });
  expect(asked).toHaveLength(4);

  bytes = randomBytes(1000);
  misbehave = (_request, response) => refuse(response, 404, 'There is no code bundle "bundle-1".');
  expect(await failureOf(fetcher()(bundle(), { path: target(), signal: never }))).toEqual({
    name: 'AgentError',
    code: 'BUNDLE_UNAVAILABLE',
    message: expect.stringContaining('There is no code bundle') as string,
  });
  expect(asked).toHaveLength(5);

  misbehave = (_request, response) => refuse(response, 401);
  const refused: FatalError[] = [];
  const onKeyRefused = (error: FatalError) => void refused.push(error);
  expect(
    await failureOf(fetcher({ onKeyRefused })(bundle(), { path: target(), signal: never })),
  ).toMatchObject({
    code: 'BUNDLE_UNAVAILABLE',
  });
  expect(refused.map(({ code }) => code)).toEqual(['KEY_REFUSED']);
  expect(await readdir(cache())).toHaveLength(1);
});

test('other bytes than the job speaks of are never kept', async () => {
  const job = bundle();
  const other = randomBytes(bytes.length);
  bytes = other;
  expect(await failureOf(fetcher()(job, { path: target(), signal: never }))).toMatchObject({
    code: 'BUNDLE_UNAVAILABLE',
    message: expect.stringContaining('SHA-256') as string,
  });
  bytes = Buffer.concat([other, other]);
  expect(await failureOf(fetcher()(job, { path: target(), signal: never }))).toMatchObject({
    message: expect.stringContaining('longer than') as string,
  });
  bytes = other.subarray(0, 1000);
  expect(await failureOf(fetcher()(job, { path: target(), signal: never }))).toMatchObject({
    message: expect.stringContaining('sent 1000 of') as string,
  });
  expect(await readdir(cache())).toEqual([]);
});

test('a copy that the disk has spoilt is brought again', async () => {
  await fetcher()(bundle(), { path: target(), signal: never });
  const spoilt = Buffer.from(bytes);
  spoilt[1000] = (spoilt[1000] ?? 0) ^ 1;
  await writeFile(join(cache(), `${bundle().digest}.tgz`), spoilt);
  await fetcher()(bundle(), { path: target(), signal: never });
  expect(bytes.equals(await readFile(target()))).toBe(true);
  expect(asked).toHaveLength(2);
});

test('time, cancelling, and a disk without room', async () => {
  misbehave = (_request, response) => {
    response.writeHead(200, { 'content-length': bytes.length }).write('x');
    return true;
  };
  expect(
    await failureOf(fetcher({ timeoutMs: 200 })(bundle(), { path: target(), signal: never })),
  ).toMatchObject({
    code: 'BUNDLE_UNAVAILABLE',
    message: expect.stringContaining('within 0.2 s') as string,
  });
  // One of two gives up: the other still gets it.
  const abort = new AbortController();
  const fetch = fetcher();
  let release: () => void = () => undefined;
  misbehave = (request, response) => {
    release = () => answer(request, response);
    abort.abort(new Error('cancelled'));
    return true;
  };
  const first = failureOf(fetch(bundle(), { path: target('a'), signal: abort.signal }));
  const second = fetch(bundle(), { path: target('b'), signal: never });
  expect((await first).message).toBe('cancelled');
  release();
  await second;
  expect(bytes.equals(await readFile(target('b')))).toBe(true);

  const huge = { key: 'huge', digest: '0'.repeat(64), size: Number.MAX_SAFE_INTEGER };
  expect(await failureOf(fetcher()(huge, { path: target(), signal: never }))).toMatchObject({
    code: 'DISK_FULL',
  });
  expect((await readdir(cache())).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('the least recently used bundles and drafts of dead agents are deleted first', async () => {
  const fetch = fetcher({ capBytes: 250_000 });
  const digests: string[] = [];
  const bring = async () => {
    bytes = randomBytes(100_000);
    digests.push(bundle().digest);
    await fetch(bundle(), { path: target(), signal: never });
    return { bundle: bundle(), file: join(cache(), `${bundle().digest}.tgz`) };
  };
  const one = await bring();
  const two = await bring();
  await utimes(one.file, new Date(1000), new Date(1000));
  await utimes(two.file, new Date(2000), new Date(2000));
  await fetch(one.bundle, { path: target(), signal: never }); // used again
  const dead = join(cache(), '.draft-0000');
  await writeFile(dead, 'x');
  await utimes(dead, new Date(1000), new Date(1000));
  await writeFile(join(cache(), '.draft-1111'), 'of one who is writing');
  const three = await bring();
  expect((await readdir(cache())).sort()).toEqual(
    ['.draft-1111', `${one.bundle.digest}.tgz`, `${three.bundle.digest}.tgz`].sort(),
  );
  expect((await stat(three.file)).size).toBe(100_000);
});
