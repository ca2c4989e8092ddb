import { createWriteStream } from 'node:fs';
import { lstat, mkdtemp, opendir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import { toError } from '../../../errors.ts';
import { runFiles } from '../../child/suite/format.ts';
import { attachedFile, type KeptFile } from '../../playwright/files.ts';
import { removeTree } from '../../process/remove-tree.ts';
import { addServiceBlock, jsonReportOf } from './json.ts';
import { baseOf, nameOf, unique } from './file-names.ts';
import type { ReadAttachment, ReadRun, ReadTest } from './lines.ts';
import type { SuitePlace } from '../place/place.ts';
import { isFailure, type JudgedTest, type Verdict } from './verdict.ts';

/** The files of a suite: reports, traces, videos, screenshots, attachments of tests. */

export type SuiteFiles = {
  files: KeptFile[];
  /** The artifact name of each attachment that has one. */
  names: Map<ReadAttachment, string>;
  /** For the run's log. */
  notes: string[];
};

const reports = { folders: 3, files: 25_000, bytes: 2 * 1024 ** 3 };
const packed = new Set(['.zip', '.webm', '.png', '.jpg', '.jpeg', '.woff2', '.gz']);

/**
 * The reports of a command's runs and the attachments of their tests, at most `limit` files: failed and flaky tests
 * first. Never throws; takes only regular files of the run itself.
 */
export async function collectFiles(options: {
  place: SuitePlace;
  runs: readonly ReadRun[];
  tests: readonly JudgedTest[];
  verdict: Verdict;
  /** A test's file, relative. */
  fileOf: (test: ReadTest) => string;
  limit: number;
  /** Size in bytes above which an artifact is rejected. */
  artifactBytes: number;
}): Promise<SuiteFiles> {
  const { place, runs, tests, limit } = options;
  const notes: string[] = [];
  const taken = new Set<string>();
  const files = await reportFiles(options, notes).catch((error: unknown) => {
    notes.push(`the reports cannot be packed: ${toError(error).message}`);
    return [] as KeptFile[];
  });
  for (const { name } of files) taken.add(name);
  const names: SuiteFiles['names'] = new Map();
  const folders = await keptFolders(place, runs);
  let leftOut = 0;
  for (const { base, attachment } of attachmentsOf(tests)) {
    const path = await ownPath(attachment, folders);
    if (path === null) continue;
    const found = await attachedFile({ ...attachment, path }, { folder: place.root, outputFolder: '' });
    if (found === null) continue;
    if (files.length >= limit) {
      leftOut += 1;
      continue;
    }
    const name = unique(nameOf(base, attachment, found), taken);
    files.push({ ...found, name });
    names.set(attachment, name);
  }
  if (leftOut > 0)
    notes.push(`${leftOut} files of tests are only in report.zip: a run has at most ${limit} artifacts`);
  return { files, names, notes };
}

const rank: { readonly [status in JudgedTest['status'] | 'degraded']: number } = {
  failed: 0,
  timedOut: 0,
  interrupted: 1,
  flaky: 2,
  degraded: 3,
  passed: 4,
  skipped: 5,
};

/** Failed tests first: the last failure of each, then its earlier tries. */
function attachmentsOf(tests: readonly JudgedTest[]): { base: string; attachment: ReadAttachment }[] {
  return tests
    .flatMap(({ test, status, degraded }) => {
      const failures = test.tries.filter((each) => isFailure(each));
      const others = test.tries.filter((each) => !failures.includes(each));
      const rankOf = degraded ? Math.min(rank.degraded, rank[status]) : rank[status];
      return [...failures.toReversed(), ...others.toReversed()].map(({ retry, attachments }, order) => ({
        order: rankOf * 1000 + order,
        base: baseOf(test, retry),
        attachments,
      }));
    })
    .sort((a, b) => a.order - b.order)
    .flatMap(({ base, attachments }) => attachments.map((attachment) => ({ base, attachment })));
}

/**
 * Where an attachment is now. If Playwright's own file still exists, our hard link to it is removed, so that the file
 * has a single name: a file with two could belong to somebody else. `folders` = those that may contain our hard links.
 */
async function ownPath({ path, kept }: ReadAttachment, folders: ReadonlySet<string>): Promise<string | null> {
  const stateOf = (file: string | null) => (file === null ? null : lstat(file).catch(() => null));
  const own = kept !== null && folders.has(dirname(kept)) ? kept : null;
  const [original, second] = [await stateOf(path), await stateOf(own)];
  if (second === null || own === null) return original === null ? null : path;
  if (original === null || path === null) return own;
  // Another file has since taken its place.
  if (original.ino !== second.ino || original.dev !== second.dev) return own;
  if (path !== own) await rm(own, { force: true }).catch(() => undefined);
  return path;
}

/** The folders of hard links that the reporters of these runs have created. */
async function keptFolders(place: SuitePlace, runs: readonly ReadRun[]): Promise<Set<string>> {
  const folders = new Set<string>();
  for (const { stamp } of runs) {
    const folder = join(place.report, runFiles.kept(stamp));
    if ((await lstat(folder).catch(() => null))?.isDirectory()) folders.add(folder);
  }
  return folders;
}

/** Playwright's HTML reports as zips, and its JSON reports. The reports of a merging run replace those that it merged. */
async function reportFiles(given: Parameters<typeof collectFiles>[0], notes: string[]): Promise<KeptFile[]> {
  const { place, runs, tests, verdict } = given;
  const files: KeptFile[] = [];
  const having = async (kind: 'html' | 'json'): Promise<string[]> => {
    const found: { mode: ReadRun['mode']; path: string }[] = [];
    for (const { stamp, mode } of runs) {
      const path = join(place.report, runFiles[kind](stamp));
      const state = await lstat(path).catch(() => null);
      if (kind === 'html' ? state?.isDirectory() : state?.isFile()) found.push({ mode, path });
    }
    const merged = found.filter(({ mode }) => mode === 'merge');
    return (merged.length > 0 ? merged : found).map(({ path }) => path);
  };
  const html = await having('html');
  const zips = html.length === 0 ? '' : await mkdtemp(join(place.root, 'zips-'));
  for (const [index, folder] of html.slice(0, reports.folders).entries()) {
    const name = index === 0 ? 'report' : `report-${index + 1}`;
    try {
      files.push(...(await zipped(folder, join(zips, name), { notes, artifactBytes: given.artifactBytes })));
    } catch (error: unknown) {
      notes.push(`${name}.zip cannot be written: ${toError(error).message}`);
    }
    // Its files are now in the zip; those that Playwright attached are also stored elsewhere.
    await removeTree(folder).catch(() => undefined);
  }
  const json = await having('json');
  // Playwright writes none if it is killed.
  if (json.length === 0 && tests.length > 0) json.push(await writtenReport(given));
  for (const [index, path] of json.slice(0, reports.folders).entries()) {
    const name = index === 0 ? 'test-results.json' : `test-results-${index + 1}.json`;
    const attachment = { path, name, contentType: 'application/json' };
    const found = await attachedFile(attachment, { folder: place.root, outputFolder: '' });
    if (found === null) continue;
    if (!path.endsWith(`/${ownReport}`)) await addServiceBlock(path, verdict);
    files.push({ ...found, name, type: 'report' });
  }
  const more = Math.max(html.length, json.length) - reports.folders;
  if (more > 0) notes.push(`reports of ${more} more runs of the test command are omitted`);
  return files;
}

const ownReport = 'results.json';

async function writtenReport(given: Parameters<typeof collectFiles>[0]): Promise<string> {
  const { place, runs, tests, verdict, fileOf } = given;
  const path = join(await mkdtemp(join(place.root, 'json-')), ownReport);
  const startTime = runs[0]?.startTime ?? 0;
  const text = jsonReportOf({ tests, fileOf, errors: verdict.errors, startTime, block: verdict });
  await writeFile(path, text, { flag: 'wx', mode: 0o600 });
  return path;
}

/** Writes a report as `<stem>.zip`; if it is too large to be accepted, again without the files of tests. */
async function zipped(
  folder: string,
  stem: string,
  { notes, artifactBytes }: { notes: string[]; artifactBytes: number },
): Promise<KeptFile[]> {
  const { files, bytes } = await filesBelow(folder);
  const all = { path: `${stem}.zip`, name: `${basename(stem)}.zip`, contentType: 'application/zip' };
  const kept: KeptFile[] = [];
  if (bytes > reports.bytes) {
    notes.push(`${all.name} is omitted: it would have ${Math.round(bytes / 1024 ** 2)} MiB`);
  } else {
    await zip(files, all.path);
    kept.push({ ...all, type: 'report' });
    const { size } = await lstat(all.path);
    if (size <= artifactBytes) return kept;
    notes.push(`${all.name} has ${Math.round(size / 1024 ** 2)} MiB, more than is accepted`);
  }
  // Everything except attachments of tests.
  const rest = files.filter(({ name }) => !name.startsWith('data/'));
  if (rest.reduce((sum, { size }) => sum + size, 0) > reports.bytes) return kept;
  const small = { path: `${stem}-without-files.zip`, name: `${basename(stem)}-without-files.zip` };
  await zip(rest, small.path);
  return [...kept, { ...small, type: 'report', contentType: 'application/zip' }];
}

type Found = { path: string; name: string; size: number; mtime: Date; mode: number };

async function filesBelow(folder: string): Promise<{ files: Found[]; bytes: number }> {
  const files: Found[] = [];
  let bytes = 0;
  const walk = async (where: string, depth: number): Promise<void> => {
    // One by one, because a folder may have any number of entries.
    for await (const entry of await opendir(where, { bufferSize: 512 })) {
      if (files.length >= reports.files) return;
      const path = join(where, entry.name);
      if (entry.isDirectory() && depth < 8) await walk(path, depth + 1);
      if (!entry.isFile()) continue;
      const { nlink, size, mtime } = await lstat(path);
      // A second hard link may belong to a file outside the run.
      if (nlink !== 1) continue;
      bytes += size;
      files.push({ path, name: relative(folder, path).split(sep).join('/'), size, mtime, mode: 0o100644 });
    }
  };
  await walk(folder, 1);
  return { files, bytes };
}

async function zip(files: readonly Found[], path: string): Promise<void> {
  const archive = new yazl.ZipFile();
  const failed = new Promise<never>((_, reject) => archive.on('error', reject));
  const written = pipeline(archive.outputStream, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  for (const { path: source, name, mtime, mode } of files) {
    // Compressed files are not compressed again.
    archive.addFile(source, name, { mtime, mode, compress: !packed.has(extname(name).toLowerCase()) });
  }
  archive.end();
  try {
    await Promise.race([written, failed]);
  } catch (error: unknown) {
    archive.outputStream.unpipe();
    throw error;
  }
}
