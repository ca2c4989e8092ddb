import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBundleFetcher } from '../../src/agent/link/bundles.ts';
import { createTransport } from '../../src/agent/link/transport.ts';
import { bundle } from '../../src/commands/bundle.ts';
import { exitCodes, FatalError } from '../../src/errors.ts';
import { unpackBundle } from '../../src/script/suite/bundle/unpack.ts';
import { createArtifactFiles } from '../../src/service/artifacts/files.ts';
import {
  addLocation,
  createAgentService,
  createClock,
  encryption,
} from '../helpers/service/agent-service.ts';
import { databases } from '../helpers/service/database.ts';
import { startTestService } from '../helpers/service/service.ts';

let folder: string;
let project: string;
let temporary: string;
let temporaryBefore: string | undefined;
let server: http.Server;
let received: { method: string; url: string; headers: IncomingMessage['headers']; body: Buffer }[] = [];
let answer: (response: ServerResponse, body: Buffer) => void;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bundle-command-'));
  project = join(folder, 'project');
  await mkdir(join(project, '.git'), { recursive: true });
  temporary = join(folder, 'tmp');
  await mkdir(temporary);
  temporaryBefore = process.env['TMPDIR'];
  process.env['TMPDIR'] = temporary;
  await writeFile(join(project, 'package.json'), '{}');
  await writeFile(join(project, 'package-lock.json'), '{}');
  await writeFile(join(project, '.env'), 'A=1');
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      answer(response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  if (temporaryBefore === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = temporaryBefore;
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  received = [];
  answer = (response, body) =>
    json(response, 201, { key: 'key-1', digest: digestOf(body), size: body.length });
});

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const json = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const serverUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has this kind

async function command(args: string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const code = await bundle(args, {
    env: { SERVICE_URL: serverUrl(), SERVICE_API_KEY: 'key_0123456789', ...env },
    stdout: (text) => (out += text),
    stderr: (text) => (err += text),
  });
  return { code, out, err };
}

async function failureOf(args: string[], env: Record<string, string> = {}) {
  const error = await command(args, env).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof FatalError)) throw error;
  return { exitCode: error.exitCode, message: error.message };
}

test('a folder is packed, uploaded and named', async () => {
  const before = await readdir(temporary);
  const { code, out, err } = await command([project]);
  expect(code).toBe(exitCodes.done);
  const [upload] = received;
  expect(upload).toMatchObject({ method: 'POST', url: '/v1/playwright-bundles' });
  expect(upload?.headers).toMatchObject({
    authorization: 'Bearer key_0123456789',
    'content-type': 'application/octet-stream',
    'content-length': String(upload?.body.length),
  });
  expect(JSON.parse(out)).toEqual({ key: 'key-1', digest: digestOf(upload?.body ?? Buffer.alloc(0)) });
  expect(err).toContain('warning: .env looks like a file of secrets; it is in the bundle');
  expect(err).toContain(`packed 3 files of ${project}`);
  const again = await command([project, '--json']);
  expect(JSON.parse(again.out)).toMatchObject({
    ...JSON.parse(out),
    files: 3,
    lockFile: 'package-lock.json',
  });
  expect(await readdir(temporary)).toEqual(before);
});

test('a key from a file, and none', async () => {
  const file = join(folder, 'key');
  await writeFile(file, 'key_from_a_file\n');
  await command([project, '--api-key-file', file]);
  expect(received[0]?.headers.authorization).toBe('Bearer key_from_a_file');
  expect(await failureOf([project], { SERVICE_API_KEY: '' })).toEqual({
    exitCode: exitCodes.configuration,
    message:
      'SERVICE_API_KEY is missing: set it, or SERVICE_API_KEY_FILE or --api-key-file, to a key of the account',
  });
});

test('an upload is retried if the service is busy, and not if it refuses', async () => {
  const good = answer;
  answer = (response, body) =>
    received.length === 1
      ? void response.destroy()
      : received.length === 2
        ? void response.writeHead(502).end()
        : good(response, body);
  expect((await command([project])).code).toBe(exitCodes.done);
  expect(received).toHaveLength(3);

  received = [];
  answer = (response) => json(response, 413, { message: 'The bundle is too large.', attributes: {} });
  expect(await failureOf([project])).toEqual({
    exitCode: exitCodes.couldNotRun,
    message: `the bundle was not uploaded to ${serverUrl()}: status 413: The bundle is too large.`,
  });
  answer = (response) => json(response, 401, { message: 'no', attributes: {} });
  expect(await failureOf([project])).toMatchObject({ exitCode: exitCodes.keyRefused });
  answer = (response) => json(response, 201, { key: 'x', digest: '0'.repeat(64) });
  expect((await failureOf([project])).message).toContain('different bytes');
  expect(received).toHaveLength(3);
});

test('wrong arguments, and a folder that is not a project', async () => {
  expect(await failureOf([])).toMatchObject({ exitCode: exitCodes.usage });
  expect(await failureOf([project, project])).toMatchObject({ exitCode: exitCodes.usage });
  expect(await failureOf([project, '--nonsense'])).toMatchObject({ exitCode: exitCodes.usage });
  expect(await failureOf([join(folder, 'nowhere')])).toMatchObject({ exitCode: exitCodes.couldNotRun });
  expect(received).toEqual([]);
});

test('from a folder through the service to an agent', { timeout: 60_000 }, async () => {
  const [database] = databases;
  if (database === undefined) throw new Error('there is an embedded database');
  const db = await database.open();
  const bundles = createArtifactFiles(join(folder, 'service'), { reserveBytes: 0 });
  await mkdir(join(folder, 'service'));
  const clock = createClock(new Date().toISOString());
  const api = await startTestService(db, { bundles, encryption });
  const agents = await createAgentService(db, clock, null, bundles);
  await agents.app.listen({ host: '127.0.0.1', port: 0 });
  const location = await addLocation(db, { accountId: api.account.id, slug: 'office' });
  try {
    // The other tests count the files of theirs.
    const large = join(folder, 'large-project');
    await cp(project, large, { recursive: true });
    await writeFile(join(large, 'large.bin'), randomBytes(20 * 1024 * 1024));
    const env = { SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key };
    const { key, digest, size } = JSON.parse((await command([large, '--json'], env)).out) as {
      key: string;
      digest: string;
      size: number;
    };
    // The key is refused before the bytes have arrived.
    expect(await failureOf([large], { ...env, SERVICE_API_KEY: 'key_of_nobody' })).toMatchObject({
      exitCode: exitCodes.keyRefused,
    });

    const serviceUrl = new URL(`http://127.0.0.1:${(agents.app.server.address() as AddressInfo).port}`); // a TCP server has this kind
    const transport = await createTransport({
      serviceUrl,
      proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
      extraCaFile: null,
      headers: { authorization: `Bearer ${location.key}` },
    });
    const fetch = createBundleFetcher({
      transport,
      serviceUrl,
      folder: join(folder, 'cache'),
      onKeyRefused: () => undefined,
      now: Date.now,
      random: () => 0,
    });
    const { signal } = new AbortController();
    const archive = join(folder, 'fetched.tgz');
    await fetch({ key, digest, size }, { path: archive, signal });
    expect(await unpackBundle({ archive, folder: join(folder, 'tree'), signal })).toMatchObject({ files: 4 });
    const missing = fetch({ key: 'nothing', digest: '0'.repeat(64), size }, { path: archive, signal });
    await expect(missing).rejects.toMatchObject({ code: 'BUNDLE_UNAVAILABLE' });
    transport.close();
  } finally {
    await agents.app.close();
    await api.close();
    await database.close();
  }
});
