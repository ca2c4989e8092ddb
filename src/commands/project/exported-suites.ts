import { createWriteStream } from 'node:fs';
import { cp, lstat, mkdir, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { exitCodes, FatalError, ServiceError, toError } from '../../errors.ts';
import { bundleLimits } from '../../protocol/suite.ts';
import { bundleFiles } from '../../script/suite/bundle/files.ts';
import { checkBundle, unpackBundle } from '../../script/suite/bundle/unpack.ts';
import type { Client } from './client.ts';
import { codeFile } from './code/messages.ts';
import { freePath, type Exported } from './exported-files.ts';

/** The Playwright projects of an account's suites, as folders next to the files of an export. */

/** A folder of the export. `from`: where its content is now. */
export type ExportedFolder = { path: string; from: string };

/** A connection without traffic for this long is closed. */
const stalledMs = 60_000;
const answerBytes = 64 * 1024;

type Options = {
  client: Client;
  resources: Exported['resources'];
  temporary: string;
  signal: AbortSignal;
  note: (line: string) => void;
};

/**
 * Downloads and unpacks the bundles that suites name, and puts `suite` in place of `codeBundlePath`. A bundle that the
 * commands would pack differently stays named by its key, and is noted.
 */
export async function withSuiteFolders(
  options: Options,
): Promise<{ resources: Exported['resources']; folders: ExportedFolder[] }> {
  const { resources, temporary, note } = options;
  const bundles = new Map<string, ExportedFolder | null>();
  const paths = new Set<string>();
  const changed: Exported['resources'][number][] = [];
  for (const resource of resources) {
    const { codeBundlePath: key, workingDir = '', ...payload } = resource.payload;
    if (resource.type !== 'check' || typeof key !== 'string') {
      changed.push(resource);
      continue;
    }
    const folder = String(workingDir);
    const known = `${key} ${folder}`;
    if (!bundles.has(known)) {
      const from = join(temporary, `suite-${bundles.size}`);
      const problem = await fetched(options, { key, folder: from, workingDir: folder });
      if (problem !== null) note(`check/${resource.logicalId} keeps its codeBundlePath: ${problem}`);
      const path = problem === null ? freePath({ paths }, 'suites', resource.logicalId) : null;
      bundles.set(known, path === null ? null : { path, from });
    }
    const found = bundles.get(known) ?? null;
    const suite = found === null ? null : suitePath(found, folder);
    changed.push(suite === null ? resource : { ...resource, payload: { ...payload, suite } });
  }
  return { resources: changed, folders: [...bundles.values()].filter((folder) => folder !== null) };
}

/** The path of a suite in the file of its check, which is in a folder next to that of the suites. */
const suitePath = ({ path }: ExportedFolder, workingDir: string): string =>
  `../${path}${workingDir === '' ? '' : `/${workingDir}`}`;

type Bundle = { key: string; folder: string; workingDir: string };

/** Unpacks a bundle into `folder`. Returns null, or why its folder cannot stand for it. */
async function fetched(options: Options, { key, folder, workingDir }: Bundle): Promise<string | null> {
  const { client, temporary, signal } = options;
  const archive = join(temporary, 'exported.tgz');
  const path = `/v1/playwright-bundles/${encodeURIComponent(key)}`;
  const known = await client.call('GET', path);
  const { digest, size } = known.body;
  if (known.status !== 200 || typeof digest !== 'string' || typeof size !== 'number')
    return 'the service does not have its code bundle';
  if (size > bundleLimits.archiveBytes) return 'its code bundle is too large';
  if (!(await download(options, `${path}/content`, archive)))
    return 'the service does not have its code bundle';
  await checkBundle({ archive, digest, size, signal });
  try {
    await unpackBundle({ archive, folder, signal });
  } catch (error) {
    signal.throwIfAborted();
    return `its code bundle cannot be unpacked (${toError(error).message})`;
  }
  return difference(folder, workingDir);
}

/** Why `bundle` would pack other files from this folder than it contains; null = it would pack the same ones. */
async function difference(folder: string, workingDir: string): Promise<string | null> {
  try {
    const packed = await bundleFiles({ folder: join(folder, workingDir) });
    const code = packed.files.find(({ path }) => codeFile.test(path));
    if (code !== undefined) return `plan would run ${code.path} of its code bundle`;
    const isWhole = packed.root === (await realpath(folder)) && packed.workingDir === workingDir;
    if (isWhole && packed.files.length === (await filesIn(folder)).length) return null;
    return 'its code bundle has files that would not be packed again';
  } catch (error) {
    // The message names the temporary folder.
    return toError(error).message.replaceAll(folder, 'its code bundle');
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}

/** Returns false if the service does not have the file. Throws FatalError. */
async function download({ client, signal }: Options, path: string, to: string): Promise<boolean> {
  const { serviceUrl, transport } = client;
  try {
    const { status } = await transport.send({
      method: 'GET',
      path,
      headers: {},
      body: null,
      idleMs: stalledMs,
      answerBytes,
      receive: (answer, body) =>
        answer.status === 200 ? pipeline(body, createWriteStream(to), { signal }) : null,
      signal,
    });
    if (status === 200) return true;
    if (status === 404) return false;
    throw new ServiceError('SERVICE_REFUSED', `status ${status}`, { status, retryable: false });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new FatalError('CONFIGURATION', `${path} of ${serviceUrl.origin}: ${error.message}`, {
      exitCode: exitCodes.couldNotRun,
      cause: error,
    });
  }
}

/** Whether a folder of the target has other files than this export; false if there is no folder. */
export async function hasOtherFiles(target: string, { path, from }: ExportedFolder): Promise<boolean> {
  const there = join(target, path);
  if ((await lstat(there).catch(() => null)) === null) return false;
  const next = await packedFiles(from);
  const now = await packedFiles(there).catch(() => null);
  if (now === null || now.length !== next.length) return true;
  for (const [index, file] of next.entries()) {
    const { path: name, kind } = file;
    if (now[index]?.path !== name || now[index]?.kind !== kind) return true;
    const [old, own] = [contentOf(join(there, name), kind), contentOf(join(from, name), kind)];
    if (!(await own).equals(await old)) return true;
  }
  return false;
}

/** The files of a Playwright project that `bundle` would pack. */
const packedFiles = async (folder: string) => (await bundleFiles({ folder, needsLockFile: false })).files;

const contentOf = async (path: string, kind: 'file' | 'link'): Promise<Buffer> =>
  kind === 'link' ? Buffer.from(await readlink(path)) : readFile(path);

/** Puts a folder in its place in the target, instead of one that is there. */
export async function writeFolder(target: string, { path, from }: ExportedFolder): Promise<void> {
  const to = join(target, path);
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
}
