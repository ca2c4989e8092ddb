import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Browser, Page } from 'playwright';
import S3rver from 's3rver';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readStorage } from '../../../src/config/storage.ts';
import { createBucketClient } from '../../../src/service/artifacts/bucket-client.ts';
import { createBucketFiles } from '../../../src/service/artifacts/bucket.ts';
import type { ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { CheckType } from '../../../src/protocol/check-types.ts';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { addCheck, silent } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns, type Run } from '../../helpers/service/stored-results.ts';

/** Media of runs in place, in a Chromium, with the files in a bucket. */

const folder = mkdtempSync(join(tmpdir(), 'run-media-'));
/** From this size on, the bucket sends files itself. */
const large = 9 * 1024 * 1024;

let bucket: S3rver;
let files: ArtifactFiles;
let api: TestService;
let browser: Browser;
let page: Page;
/** What the policy of the pages blocked, and errors of their scripts. */
const faults: string[] = [];

beforeAll(async () => {
  if (!hasChromium) return;
  bucket = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'monitoring', configs: [] }],
  });
  const { port } = (await bucket.run()) as AddressInfo;
  const config = readStorage({
    SERVICE_ARTIFACT_STORE: 's3://monitoring/staging',
    S3_ENDPOINT: `http://127.0.0.1:${port}`,
    S3_ACCESS_KEY_ID: 'S3RVER',
    S3_SECRET_ACCESS_KEY: 'S3RVER',
    S3_PRESIGNED_DOWNLOADS: 'true',
  });
  if (config === null) throw new Error('a bucket was asked for');
  const client = createBucketClient(config);
  files = createBucketFiles({
    client,
    downloads: client,
    config,
    folder: 'artifacts/',
    log: silent,
  });
  api = await startTestService(await anyDatabase.open(), { files });
  browser = await startChromium();
  page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(30_000);
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) faults.push(message.text());
  });
  const signedIn = await page.request.post(`${api.url}/v1/sign-in`, { data: { apiKey: api.account.key } });
  expect(signedIn.status()).toBe(200);
}, 120_000);
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await api.close();
  await bucket.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A check and one run of it. */
async function run(checkType: CheckType, kind: Partial<Run>, groupId: number | null = null) {
  const { db, account } = api;
  const checkId = await addCheck(db, {
    accountId: account.id,
    locations: ['eu-west-1'],
    checkType,
    now: Date.now(),
  });
  await db.query('update checks set group_id = $2 where id = $1', [checkId, groupId]);
  const [id = ''] = await storeRuns(db, { accountId: account.id, checkId }, [
    { at: Date.now() - 3_600_000, checkType, ...kind },
  ]);
  return { checkId, id, address: `${api.url}/checks/${checkId}/runs/${id}` };
}
const part = (name: string) => page.getByRole('region', { name, exact: true });
async function open(address: string): Promise<void> {
  await page.goto(address);
  await part('Summary').waitFor();
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
}
/** A real picture and a real video, drawn by the browser. */
async function recorded(): Promise<{ png: Buffer; webm: Buffer }> {
  const drawing = await browser.newPage();
  const [png = '', webm = ''] = await drawing.evaluate<string[]>(`(async () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [64, 48];
    const context = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: 'video/webm' });
    const chunks = [];
    recorder.ondataavailable = ({ data }) => chunks.push(data);
    recorder.start();
    for (let turn = 0; turn < 25; turn++) {
      context.fillStyle = turn % 2 ? 'teal' : 'orange';
      context.fillRect(0, 0, 64, 48);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    await new Promise((resolve) => { recorder.onstop = resolve; recorder.stop(); });
    const base64 = (blob) => new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.split(',')[1]);
      reader.readAsDataURL(blob);
    });
    return [canvas.toDataURL('image/png').split(',')[1], await base64(new Blob(chunks))];
  })()`);
  await drawing.close();
  return { png: Buffer.from(png, 'base64'), webm: Buffer.from(webm, 'base64') };
}

/** Puts a file of a run into the bucket. */
async function putFile(
  { id: resultId, checkId }: { id: string; checkId: string },
  { name, type, contentType, bytes }: { name: string; type: string; contentType: string; bytes: Buffer },
): Promise<string> {
  const id = randomUUID();
  const signal = new AbortController().signal;
  const body = Readable.from([bytes], { objectMode: false });
  await files.write(id, { at: 0, size: bytes.length, body, signal });
  await files.finish(id);
  const [row] = await api.db.query<{ jobId: string | null; lease: string | null }>(
    'select job_id as "jobId", lease_token as lease from check_results where id = $1',
    [resultId],
  );
  const [jobId, lease] = [row?.jobId ?? randomUUID(), row?.lease ?? randomUUID()];
  await api.db.query('update check_results set job_id = $2, lease_token = $3 where id = $1', [
    resultId,
    jobId,
    lease,
  ]);
  await api.db.query(
    `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state,
       created_at) values ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, 'stored', now())`,
    [
      id,
      api.account.id,
      jobId,
      lease,
      name,
      type,
      contentType,
      bytes.length,
      createHash('sha256').update(bytes).digest(),
    ],
  );
  return `${api.url}/v1/check-results/${checkId}/${resultId}/assets/${name}`;
}

describe.skipIf(!hasChromium)('media of runs', { timeout: 120_000 }, () => {
  it('show screenshots and play videos in place, although they are in a bucket', async () => {
    const { png, webm } = await recorded();
    // Decoders ignore what follows a picture, and an EBML element of the kind Void.
    const picture = Buffer.concat([png, Buffer.alloc(large)]);
    const size = Buffer.alloc(8);
    size.writeBigUInt64BE(0x0100_0000_0000_0000n | BigInt(large));
    const video = Buffer.concat([webm, Buffer.from([0xec]), size, Buffer.alloc(large)]);
    const artifact = (name: string, type: string, bytes: Buffer) => ({
      name,
      type,
      size: bytes.length,
      state: 'stored',
      url: null,
    });
    const made = await run('BROWSER', {
      artifacts: [artifact('page.png', 'screenshot', picture), artifact('video.webm', 'video', video)],
    });
    const ofPicture = await putFile(made, {
      name: 'page.png',
      type: 'screenshot',
      contentType: 'image/png',
      bytes: picture,
    });
    await putFile(made, { name: 'video.webm', type: 'video', contentType: 'video/webm', bytes: video });
    // For programs, the bucket sends large files: another host, which the policy of pages blocks.
    const answer = await page.request.get(ofPicture, { maxRedirects: 0 });
    expect([answer.status(), answer.headers()['location']]).toEqual([
      302,
      expect.stringContaining('/monitoring/'),
    ]);

    await open(made.address);
    const image = page.getByRole('img', { name: 'Screenshot page.png' });
    await image.scrollIntoViewIfNeeded();
    await expect
      .poll(() => page.evaluate('document.querySelector(".media img").naturalWidth'), { timeout: 30_000 })
      .toBe(64);
    await page.evaluate(
      'document.querySelector("video").muted = true; document.querySelector("video").play()',
    );
    await expect
      .poll(() => page.evaluate<number>('document.querySelector("video").currentTime'), { timeout: 30_000 })
      .toBeGreaterThan(0.2);
    expect(await page.evaluate('document.querySelector("video").videoWidth')).toBe(64);
    expect(faults).toEqual([]);
  });

  it('show an image of a response in place', async () => {
    const { png } = await recorded();
    const response = {
      status: 200,
      headers: { 'content-type': 'image/png' },
      body: png.toString('base64'),
      bodyEncoding: 'base64',
    };
    const { address } = await run('API', {
      details: { request: { method: 'GET', url: 'https://a.test/' }, response },
    });
    await open(address);
    await page.getByRole('img', { name: 'Response body' }).waitFor();
    await expect.poll(() => page.evaluate('document.querySelector("img.preview").naturalWidth')).toBe(64);
    expect(faults).toEqual([]);
  });
});
