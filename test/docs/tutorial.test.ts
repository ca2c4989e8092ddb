import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killAll, readyLine, startProgram, type Program } from '../e2e/program.ts';
import { builtProgram } from '../helpers/build.ts';

/** docs/tutorial.md, typed block by block: from nothing to an alert in the mailbox. */

const root = resolve(import.meta.dirname, '../..');
const { documentOf } = (await import(join(root, 'scripts/docs/blocks.mjs'))) as {
  documentOf: (path: string) => { language: string; marks: string[]; content: string }[];
};
const blocks = documentOf('docs/tutorial.md').filter(({ language }) => language === 'sh');

let folder: string;
let dev: Program;
let url: string;
beforeAll(async () => {
  const main = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'tutorial-'));
  // `npm start` with free ports, in this folder, and without the install of a runtime.
  dev = startProgram(main, ['dev'], {
    SERVICE_PORT: '0',
    AGENT_HEALTH_PORT: '0',
    SERVICE_DATA_DIR: join(folder, '.data'),
    AGENT_DATA_DIR: join(folder, 'agent'),
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
  });
  url = (await readyLine(dev, 150_000)).serviceUrl;
}, 240_000);
afterAll(async () => {
  dev.kill('SIGTERM');
  await dev.exited;
  killAll();
  rmSync(folder, { recursive: true, force: true });
}, 115_000);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo; // a listening server has one
  await new Promise((done) => server.close(done));
  return port;
}

test('the page begins with the start of everything', () => {
  expect(blocks[0]).toMatchObject({ marks: ['background'], content: 'npm start\n' });
  expect(blocks.filter(({ marks }) => marks.includes('background'))).toHaveLength(1);
});

test('its commands, in order, end with an alert in the mailbox', async () => {
  const port = await freePort();
  const script = blocks
    .filter(({ marks }) => !marks.includes('background'))
    .map(({ content }) => content)
    .join('\n')
    .replaceAll('http://127.0.0.1:4400', url)
    .replaceAll('8899', String(port));
  const typed = spawnSync('bash', ['-e'], { cwd: folder, input: script, encoding: 'utf8', timeout: 150_000 });
  expect({ status: typed.status, signal: typed.signal, stderr: typed.stderr }).toEqual({
    status: 0,
    signal: null,
    stderr: '',
  });
  const mailbox = join(folder, '.data', 'mailbox');
  const [first = ''] = readdirSync(mailbox).sort();
  const mail = await PostalMime.parse(readFileSync(join(mailbox, first)));
  expect(mail.to?.map(({ address }) => address)).toEqual(['you@example.com']);
  expect(mail.subject).toBe('Check "My application" has failed');
}, 180_000);
