import { createHash, randomBytes } from 'node:crypto';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exitCodes, FatalError } from '../../../../src/errors.ts';
import { packBundle } from '../../../../src/script/suite/bundle/pack.ts';
import { unpackBundle } from '../../../../src/script/suite/bundle/unpack.ts';

let base: string;
let project: string;
let count = 0;
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'pack-')));
  // As in a repository: nothing above it is looked at.
  await mkdir(join(base, '.git'));
});
afterAll(() => rm(base, { recursive: true, force: true }));
beforeEach(async () => {
  project = join(base, String(++count), 'project');
  await mkdir(project, { recursive: true });
});

async function put(files: { [path: string]: string | Buffer }) {
  for (const [path, content] of Object.entries(files)) {
    const full = join(project, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
  }
}
const archive = () => join(base, String(count), 'bundle.tgz');
type Options = Partial<Parameters<typeof packBundle>[0]>;
const pack = (options: Options = {}) => packBundle({ folder: project, to: archive(), ...options });

/** Packs, unpacks, and returns the files: links as `-> target`. */
async function roundTrip(options: Options = {}) {
  const packed = await pack(options);
  const folder = join(base, String(count), `tree-${Math.random()}`);
  await unpackBundle({ archive: archive(), folder, signal: new AbortController().signal });
  const files: { [path: string]: string } = {};
  const look = async (at: string): Promise<void> => {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const full = join(at, entry.name);
      if (entry.isDirectory()) await look(full);
      else
        files[relative(folder, full)] = entry.isSymbolicLink()
          ? `-> ${await readlink(full)}`
          : await readFile(full, 'utf8');
    }
  };
  await look(folder);
  return { packed, files, folder, names: Object.keys(files).sort() };
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => new Error('it was packed'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof FatalError)) throw error;
  expect(error.exitCode).toBe(exitCodes.couldNotRun);
  return error.message;
}

const lock = { 'package.json': '{}', 'package-lock.json': '{"lockfileVersion":3}' };

test('packs a project without tool output and git-ignored files', async () => {
  await put({
    ...lock,
    'playwright.config.ts': 'export default {}',
    'tests/a.spec.ts': 'test',
    'tests/coverage/report.spec.ts': 'a folder of tests that is named like a report',
    'patches/left-pad+1.3.0.patch': 'patch',
    '.npmrc': '//registry.example.com/:_authToken=${NPM_TOKEN}\n',
    '.yarnrc.yml': 'nodeLinker: node-modules\nnpmAuthToken: "${NPM_TOKEN}"\n',
    '.yarn/patches/p.patch': 'x',
    '.yarn/plugins/p.cjs': 'x',
    '.yarn/releases/yarn.cjs': 'x',
    '.yarn/install-state.gz': 'x',
    'node_modules/a/index.js': 'x',
    'tests/node_modules/b/index.js': 'x',
    'test-results/x/trace.zip': 'x',
    'playwright-report/index.html': 'x',
    'blob-report/report.zip': 'x',
    'coverage/lcov.info': 'x',
    '.cache/x': 'x',
    '.turbo/x': 'x',
    '.next/cache/x': 'x',
    '.next/keep': 'x',
    '.gitignore': '/test-results/\n*.log\n!kept.log\n.env\n/playwright/.auth/\n',
    'debug.log': 'x',
    'kept.log': 'x',
    '.env': 'PASSWORD=x',
    'playwright/.auth/user.json': '{}',
    'deep/.gitignore': '*\n!.gitignore\n!seen.txt\n',
    'deep/seen.txt': 'x',
    'deep/unseen.txt': 'x',
  });
  await writeFile(join(project, 'run.sh'), '#!/bin/sh\n');
  await chmod(join(project, 'run.sh'), 0o775);
  const { packed, names, files, folder } = await roundTrip();
  expect(names).toEqual(
    [
      '.gitignore',
      '.next/keep',
      '.npmrc',
      '.yarn/patches/p.patch',
      '.yarn/plugins/p.cjs',
      '.yarn/releases/yarn.cjs',
      '.yarnrc.yml',
      'deep/.gitignore',
      'deep/seen.txt',
      'kept.log',
      'package-lock.json',
      'package.json',
      'patches/left-pad+1.3.0.patch',
      'playwright.config.ts',
      'run.sh',
      'tests/a.spec.ts',
      'tests/coverage/report.spec.ts',
    ].sort(),
  );
  expect(files['.npmrc']).toBe('//registry.example.com/:_authToken=${NPM_TOKEN}\n');
  expect((await stat(join(folder, 'run.sh'))).mode & 0o111).not.toBe(0);
  expect(packed).toMatchObject({ workingDir: '', lockFile: 'package-lock.json', root: project, files: 17 });
  const bytes = await readFile(archive());
  expect(packed.size).toBe(bytes.length);
  expect(packed.digest).toBe(createHash('sha256').update(bytes).digest('hex'));
  expect(packed.warnings.sort()).toEqual([
    ".cache is skipped because it is tool output; add it with --include '.cache'",
    '.env is skipped because of .gitignore; add it with --include',
    ".next/cache is skipped because it is tool output; add it with --include '.next/cache'",
    ".turbo is skipped because it is tool output; add it with --include '.turbo'",
    "blob-report is skipped because it is tool output; add it with --include 'blob-report'",
    "coverage is skipped because it is tool output; add it with --include 'coverage'",
    "playwright-report is skipped because it is tool output; add it with --include 'playwright-report'",
  ]);
});

test('globs include excluded files, except node_modules and .git', async () => {
  await put({
    ...lock,
    '.gitignore': '.env*\nsecrets/\n',
    '.env': 'A=1',
    '.env.test': 'A=1',
    'secrets/a/one.json': '{}',
    'secrets/a/two.txt': '{}',
    'secrets/b/one.json': '{}',
    'coverage/data.json': '{}',
    'coverage/data.html': '{}',
    'node_modules/x/index.js': '',
  });
  const { names } = await roundTrip({
    include: ['.env.{test,prod}', 'secrets/a/**/*.json', './coverage/*.json', 'node_modules/**'],
  });
  expect(names).toEqual(
    [
      '.env.test',
      '.gitignore',
      'coverage/data.json',
      'package-lock.json',
      'package.json',
      'secrets/a/one.json',
    ].sort(),
  );
  const all = await roundTrip({ include: ['secrets'] });
  expect(all.names.filter((name) => name.startsWith('secrets/'))).toHaveLength(3);
});

test('a folder of a workspace: everything from its root on, globs from the folder', async () => {
  await put({
    'package.json': '{"workspaces":["packages/*"]}',
    'pnpm-lock.yaml': "lockfileVersion: '9.0'",
    'pnpm-workspace.yaml': 'packages: [packages/*]',
    'packages/e2e/package.json': '{}',
    'packages/e2e/data/x.tmp': 'x',
    'packages/shared/package.json': '{}',
    'packages/shared/data.tmp': 'x',
    'packages/shared/index.ts': 'export {}',
    'packages/e2e/node_modules/x/index.js': '',
  });
  await writeFile(join(base, '.gitignore'), '*.tmp\n');
  const { packed, names } = await roundTrip({
    folder: join(project, 'packages/e2e'),
    include: ['data/*.tmp', '../shared/*.tmp'],
  });
  await rm(join(base, '.gitignore'));
  expect(packed).toMatchObject({ root: project, workingDir: 'packages/e2e', lockFile: 'pnpm-lock.yaml' });
  expect(names).toEqual(
    [
      'package.json',
      'packages/e2e/data/x.tmp',
      'packages/e2e/package.json',
      'packages/shared/data.tmp',
      'packages/shared/index.ts',
      'packages/shared/package.json',
      'pnpm-lock.yaml',
      'pnpm-workspace.yaml',
    ].sort(),
  );
});

test('rules of .gitignore as git reads them', async () => {
  await put({
    ...lock,
    // As Yarn's own documentation has it.
    '.gitignore': '.yarn/*\n!.yarn/patches\n!.yarn/releases\nBuild/\n/only-here.txt\nlogs/**/x.txt\n',
    '.yarn/cache/a.zip': 'x',
    '.yarn/patches/a.patch': 'x',
    '.yarn/releases/yarn.cjs': 'x',
    'build/kept.txt': 'x',
    'Build/ignored.txt': 'x',
    'only-here.txt': 'x',
    'a/only-here.txt': 'x',
    'logs/a/b/x.txt': 'x',
    'logs/a/b/y.txt': 'x',
    'a/.gitignore': '/local\n',
    'a/local/x': 'x',
    'a/b/local/x': 'x',
  });
  const { names } = await roundTrip();
  expect(names.filter((name) => name.includes('/'))).toEqual([
    '.yarn/patches/a.patch',
    '.yarn/releases/yarn.cjs',
    'a/.gitignore',
    'a/b/local/x',
    'a/only-here.txt',
    'build/kept.txt',
    'logs/a/b/y.txt',
  ]);
  expect(names).not.toContain('only-here.txt');
});

test('links within the tree are kept, others are omitted and named', async () => {
  await put({ ...lock, 'shared/a.ts': 'a', 'tests/x.ts': 'x' });
  await symlink('../shared', join(project, 'tests/shared'));
  await symlink(join(project, 'shared/a.ts'), join(project, 'tests/absolute.ts'));
  await symlink('/etc/passwd', join(project, 'passwd'));
  await symlink('../..', join(project, 'up'));
  await symlink('up/x', join(project, 'through'));
  await symlink('not-there', join(project, 'dangling'));
  const { packed, files } = await roundTrip();
  expect(files).toEqual({
    ...lock,
    'shared/a.ts': 'a',
    'tests/x.ts': 'x',
    'tests/shared': '-> ../shared',
    'tests/absolute.ts': '-> ../shared/a.ts',
    dangling: '-> not-there',
  });
  expect(packed.warnings.sort()).toEqual([
    'passwd is skipped: it is a link to an absolute path',
    'through is skipped: it is a link that leads out of the folder',
    'up is skipped: it is a link that leads out of the folder',
  ]);
});

test('the same files give the same bytes', async () => {
  await put({ ...lock, 'b/ö.txt': 'x', 'a.txt': randomBytes(100_000), [`${'long/'.repeat(30)}x`]: 'x' });
  const first = await pack();
  for (const path of ['a.txt', 'b/ö.txt', 'package.json'])
    await utimes(join(project, path), new Date(), new Date(2020, 1, 1));
  await chmod(join(project, 'a.txt'), 0o600);
  expect(await pack()).toEqual(first);
  await put({ 'a.txt': 'other' });
  expect((await pack()).digest).not.toBe(first.digest);
});

test('files that look secret are packed, and named', async () => {
  const key = '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n';
  await put({
    ...lock,
    '.env.staging': 'PASSWORD=x',
    '.env.example': 'PASSWORD=',
    'certs/ca.pem': '-----BEGIN CERTIFICATE-----\nabc\n',
    'certs/client.pem': key,
    'certs/x.key': 'x',
    'keys/id_rsa': 'x',
    'keys/id_rsa.pub': 'x',
    'a.p12': 'x',
    'credentials.json': '{}',
    'service-account-dev.json': '{}',
    '.npmrc': '//registry.example.com/:_authToken=abcdef\n',
    '.yarnrc.yml': 'npmScopes:\n  a:\n    npmAuthToken: abcdef\n',
    'src/monkey.ts': 'export const monkey = "key"',
    'src/token.ts': `const token = "ghp_${'a'.repeat(36)}"`,
  });
  const { warnings, files } = await pack();
  expect(files).toBe(16);
  const secret = 'looks like a file of secrets; it is in the bundle';
  const literal = 'contains a literal token; use a variable instead: ${NAME}; it is in the bundle';
  expect(warnings.sort()).toEqual(
    [
      `.env.staging ${secret}`,
      `.npmrc ${literal}`,
      `.yarnrc.yml ${literal}`,
      `a.p12 ${secret}`,
      'certs/client.pem contains a private key; it is in the bundle',
      `certs/x.key ${secret}`,
      `credentials.json ${secret}`,
      `keys/id_rsa ${secret}`,
      `service-account-dev.json ${secret}`,
      'src/token.ts contains an access token; it is in the bundle',
    ].sort(),
  );
});

test('without a lock file, the error names the command that creates one', async () => {
  await put({ 'package.json': '{"packageManager":"pnpm@10.1.0"}' });
  expect(await failureOf(pack())).toMatch(/has no lock file.*pnpm install --lockfile-only$/);
  await put({ 'package.json': '{}' });
  expect(await failureOf(pack())).toMatch(/npm install --package-lock-only$/);
  expect(await pack({ needsLockFile: false })).toMatchObject({ lockFile: null, workingDir: '', files: 1 });
  await rm(join(project, 'package.json'));
  expect(await failureOf(pack())).toMatch(/no package\.json/);
  expect(await failureOf(pack({ folder: join(project, 'nowhere') }))).toMatch(
    /cannot read .*nowhere \(ENOENT\)/,
  );
  await put({ 'a.txt': '' });
  expect(await failureOf(pack({ folder: join(project, 'a.txt') }))).toMatch(/is not a folder/);
});

test('a bundle that is too large is refused with its largest files', async () => {
  await put({ ...lock, 'video.mp4': randomBytes(3 * 1024 * 1024), 'small.bin': randomBytes(100_000) });
  const limits = { archiveBytes: 1024 * 1024, unpackedBytes: 10 * 1024 * 1024, entries: 10 };
  expect(await failureOf(pack({ limits }))).toMatch(
    /more than 1\.0 MB packed; .* video\.mp4 \(3\.0 MB\), small\.bin/,
  );
  expect(await failureOf(pack({ limits: { ...limits, unpackedBytes: 1024 * 1024 } }))).toMatch(
    /more than 1\.0 MB; the largest files are video\.mp4/,
  );
  for (let i = 0; i < 10; i++) await put({ [`many/files/${i}`]: '' });
  expect(await failureOf(pack({ limits }))).toMatch(
    /14 files, which is more than 10; 10 of them are in many\/files/,
  );
});

test('many files are packed in bounded memory', { timeout: 60_000 }, async () => {
  await put(lock);
  await mkdir(join(project, 'many'));
  for (let i = 0; i < 1000; i++) await writeFile(join(project, 'many', String(i)), `file ${i}`);
  const { names } = await roundTrip();
  expect(names).toHaveLength(1002);
});

test('a full file system during the write', async () => {
  await put(lock);
  expect(await failureOf(pack({ to: join(base, 'no', 'such', 'folder.tgz') }))).toMatch(
    /cannot be written \(ENOENT\)/,
  );
});
