import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  openAttemptFiles,
  type AttemptFile,
  type KeepArtifacts,
} from '../../../src/agent/artifacts/attempt-files.ts';
import { jobScrubbers } from '../../../src/agent/scrubbing/own-secrets.ts';
import { createWorkDirs } from '../../../src/agent/folders/work-dir.ts';
import type { Scripts } from '../../../src/script/interface/scripts.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { apiJob } from '../../helpers/network/http.ts';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'attempt-files-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

const none = () => Promise.reject(new Error('no scripts here'));
const scripts: Scripts = {
  runtimes: [],
  openApiScripts: none,
  runPlaywright: none,
  runSuite: none,
  close: () => Promise.resolve(),
};

function open() {
  const taken: {
    files: readonly AttemptFile[];
    secrets: readonly { value: string }[];
    existed: boolean[];
  }[] = [];
  const keepArtifacts: KeepArtifacts = (_attempt, files, { secrets }) => {
    taken.push({ files, secrets, existed: files.map(({ path }) => existsSync(path)) });
    return Promise.resolve(
      files.map(({ name, type }) => ({ name, type, size: 1, state: 'pending' as const, url: null })),
    );
  };
  const workDirs = createWorkDirs(join(root, 'runs'), 'agent');
  const scrubber = jobScrubbers([], createScrubber([]))(apiJob({ url: 'http://target.test/' }));
  return {
    files: openAttemptFiles({ scripts, workDirs, keepArtifacts }, scrubber),
    taken,
    scrubber,
    workDirs,
  };
}

const job = { jobId: 'job', leaseToken: 'token' };
const options = (notes: string[] = []) => ({
  signal: new AbortController().signal,
  note: (_level: string, msg: string) => void notes.push(msg),
});

test('files are scrubbed with the secrets of the run before their folder is deleted', async () => {
  const { files, taken, workDirs } = open();
  const folder = await files.context.workDir();
  expect(await files.context.workDir()).toBe(folder);
  const path = join(folder, 'shot');
  writeFileSync(path, 'x');
  files.context.addSecret('session', 'session-9876');
  const add = (name: string) =>
    files.context.artifacts.add({ path, name, type: 'screenshot', contentType: 'image/png' });
  add('of session-9876.png');
  add('plain.png');
  const kept = await files.keep({ job, attempt: 1 }, options());
  expect(kept.map(({ name }) => name)).toEqual(['screenshot.png', 'plain.png']);
  expect(taken[0]).toMatchObject({ existed: [true, true], secrets: [{ value: 'session-9876' }] });
  await files.remove();
  expect(existsSync(folder)).toBe(false);
  await workDirs.close();
});

test('invalid content types of scripts are ignored', async () => {
  const { files, taken, workDirs } = open();
  const path = join(await files.context.workDir(), 'one');
  files.context.addSecret('session', 'session-9876');
  const types = ['text/html; charset=utf-8', 'x/session-9876', 'text/plain\r\nx: y', '', 'é/é'];
  for (const contentType of types) {
    files.context.artifacts.add({ path, name: 'one.txt', type: 'file', contentType });
  }
  await files.keep({ job, attempt: 1 }, options());
  const plain = 'application/octet-stream';
  expect(taken[0]?.files.map(({ contentType }) => contentType)).toEqual([
    'text/html; charset=utf-8',
    plain,
    plain,
    plain,
    plain,
  ]);
  await files.remove();
  await workDirs.close();
});

test('files above the limit per attempt are reported', async () => {
  const { files, taken, workDirs } = open();
  const path = join(await files.context.workDir(), 'one');
  for (let n = 0; n < 103; n++) {
    files.context.artifacts.add({ path, name: `${n}.txt`, type: 'file', contentType: 'text/plain' });
  }
  const notes: string[] = [];
  expect(await files.keep({ job, attempt: 1 }, options(notes))).toHaveLength(100);
  expect(notes).toEqual(['3 files were skipped: an attempt may have at most 100 artifacts']);
  expect(taken).toHaveLength(1);
  await files.remove();
  await workDirs.close();
});

test('an attempt that needs no folder creates none', async () => {
  const { files, workDirs } = open();
  expect(files.isEmpty()).toBe(true);
  await files.remove();
  await workDirs.close();
  expect(readdirSync(root)).toEqual([]);
});
