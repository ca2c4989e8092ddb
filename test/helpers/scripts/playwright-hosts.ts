import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** Where Playwright and its browsers come from, in small: a registry with one package, and a host of downloads. */

export type Host = { url: string; asked: string[]; close: () => void };

/** A registry that has only `playwright-core` of this folder of packages. */
export async function coreRegistry(nodeModules: string): Promise<Host> {
  const folder = mkdtempSync(join(tmpdir(), 'core-registry-'));
  const core = join(nodeModules, 'playwright-core');
  const archive = join(folder, 'core.tgz');
  // As `npm pack` makes it, and in a tenth of the time.
  execFileSync('tar', ['-czf', archive, '--transform', 's,^\\./,package/,', '-C', core, '.']);
  const bytes = readFileSync(archive);
  rmSync(folder, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as { version: string };
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  return host((path, base) => {
    if (path.endsWith('.tgz')) return bytes;
    if (path !== '/playwright-core') return null;
    const { version } = manifest;
    const dist = { tarball: `${base}/playwright-core/-/playwright-core-${version}.tgz`, integrity };
    return Buffer.from(
      JSON.stringify({
        name: 'playwright-core',
        'dist-tags': { latest: version },
        versions: { [version]: { ...manifest, dist } },
      }),
    );
  });
}

/** A host that has every browser: archives with small programs, which say `word`, where the real ones would be. */
export async function downloads(word: string): Promise<Host> {
  const zip = new ZipFile();
  for (const path of [
    'chrome-linux64/chrome',
    'chrome-linux/chrome',
    'chrome-headless-shell-linux64/chrome-headless-shell',
    'chrome-linux/headless_shell',
    'ffmpeg-linux',
    'firefox/firefox',
  ]) {
    zip.addBuffer(Buffer.from(`#!/bin/sh\necho ${word}\n`), path, { mode: 0o100755 });
  }
  zip.end();
  const archive = await buffer(zip.outputStream as unknown as NodeJS.ReadableStream);
  return host(() => archive);
}

async function host(answer: (path: string, base: string) => Buffer | null): Promise<Host> {
  const asked: string[] = [];
  let url = '';
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const body = answer(path, url);
    if (body === null) return void response.writeHead(404).end();
    response.setHeader('content-length', body.length);
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, close: () => server.close().closeAllConnections() };
}
