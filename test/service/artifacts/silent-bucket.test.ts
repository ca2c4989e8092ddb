import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readStorage, type BucketConfig } from '../../../src/config/storage.ts';
import { bucketProblem, createBucketClient } from '../../../src/service/artifacts/bucket-client.ts';
import { createBucketNamedFiles } from '../../../src/service/artifacts/bucket-named.ts';
import { createBucketFiles } from '../../../src/service/artifacts/bucket.ts';
import { StoreUnavailable } from '../../../src/service/artifacts/unavailable.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { silent } from '../../helpers/service/agent-service.ts';

/** A bucket that accepts calls and never answers them, or not completely: each call ends. */

let answer: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
const server = createServer((request, response) => answer(request, response));
const clients: S3Client[] = [];
let config: BucketConfig;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const read = readStorage({
    SERVICE_ARTIFACT_STORE: 's3://monitoring/staging',
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'key',
  });
  if (read === null) throw new Error('a bucket was asked for');
  config = read;
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  answer = () => undefined;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const clientOf = (silentMs?: number) => {
  const client = createBucketClient(config, silentMs);
  clients.push(client);
  return client;
};
const namedFiles = (limits?: { readMs: number; otherMs: number }, silentMs?: number) =>
  createBucketNamedFiles({
    client: clientOf(silentMs),
    config,
    folder: 'results/',
    log: silent,
    ...(limits === undefined ? {} : { limits }),
  });
const range = { start: 0, end: 100 };

/** Begins an answer of 100 bytes and sends the rest when it is called. */
function begins(): () => void {
  let end: () => void = () => undefined;
  answer = (_request, response) => {
    response.writeHead(206, { 'content-length': 100 });
    response.write('x'.repeat(40));
    end = () => response.end('x'.repeat(60));
  };
  return () => end();
}

test('each call for files with results ends', async () => {
  const files = namedFiles({ readMs: 30, otherMs: 30 });
  await expect(files.read('a', range)).rejects.toThrow(StoreUnavailable);
  await expect(files.remove('a')).rejects.toThrow(StoreUnavailable);
  await expect(files.list()[Symbol.asyncIterator]().next()).rejects.toThrow(StoreUnavailable);
  begins();
  await expect(files.read('a', range)).rejects.toThrow(StoreUnavailable);
});

test('an upload of a file with results ends when no byte moves', { timeout: 20_000 }, async () => {
  const files = namedFiles(undefined, 100);
  await expect(files.put('a', Buffer.alloc(10))).rejects.toThrow(StoreUnavailable);
});

test('a read ends with its signal, also after the answer has begun', async () => {
  const files = namedFiles();
  const stopping = new AbortController();
  const read = files.read('a', { ...range, signal: stopping.signal });
  answer = () => stopping.abort();
  await expect(read).rejects.toThrow(StoreUnavailable);
  const late = new AbortController();
  answer = (_request, response) => {
    response.writeHead(206, { 'content-length': 100 });
    response.write('x', () => setImmediate(() => late.abort()));
  };
  await expect(files.read('a', { ...range, signal: late.signal })).rejects.toThrow(StoreUnavailable);
});

test('calls for artifacts end when no byte moves, and not before', { timeout: 20_000 }, async () => {
  const client = clientOf(400);
  const files = createBucketFiles({ client, downloads: client, config, folder: 'artifacts/', log: silent });
  const id = uuidv7();
  await expect(files.exists(id)).rejects.toThrow(StoreUnavailable);
  begins();
  await expect(files.digest(id)).rejects.toThrow(StoreUnavailable);
  // It takes longer than the limit in all.
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': 20 });
    let sent = 0;
    const timer = setInterval(() => {
      response.write('x');
      if (++sent === 20) clearInterval(timer);
    }, 40);
  };
  const { stream, size } = await files.open(id);
  let length = 0;
  for await (const chunk of stream) length += (chunk as Buffer).length;
  expect([length, size]).toEqual([20, 20]);
});

test('the service starts without a bucket that does not answer', async () => {
  expect(await bucketProblem(clientOf(), 'monitoring', 30)).toMatchObject({ isForGood: false });
});
