import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import { describe, expect, test } from 'vitest';

/** What a release is made of: the changelog's rules, bills of materials, provenance, images, the chart's archive. */

const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }; // our own file
type Any = (...args: unknown[]) => unknown;
const part = async (name: string) =>
  (await import(join(root, 'scripts', 'release', name))) as Record<string, Any>; // plain JavaScript of ours

describe('CHANGELOG', async () => {
  const { changelogMistakes } = await part('changelog.mjs');
  const today = '2026-06-01';
  const mistakesOf = (text: string, options: object = {}) =>
    changelogMistakes?.(text, { version: '1.2.0', today, ...options }) as string[];
  const good =
    '# Changelog\n\n## 1.2.0 (2026-05-01)\n\n- [FEATURE] A.\n\n## 1.1.9 (2026-04-01)\n\n- [BUGFIX] B.\n';

  test("this project's own is as it should be", () => {
    const now = new Date().toISOString().slice(0, 10);
    const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
    expect(changelogMistakes?.(text, { version, today: now })).toEqual([]);
  });

  test('released entries, and pending ones on top of them, are good', () => {
    expect(mistakesOf(good)).toEqual([]);
    expect(mistakesOf(good, { release: true })).toEqual([]);
    expect(mistakesOf(`## Pending\n\n- [CHANGE] C.\n${good}`)).toEqual([]);
    expect(mistakesOf(`## Unreleased\n${good}`)).toEqual([]);
  });

  test.each([
    ['', /no entry/],
    ['## Soon\n- [CHANGE] C.\n', /"## Soon" is not a valid heading/],
    ['## 1.2.0\n- [CHANGE] C.\n', /is not a valid heading/],
    ['## 1.2.0 (2026-05-01)\n', /has no lines/],
    ['## 1.2.0 (2026-05-01)\n- C.\n', /does not begin with \[CHANGE\]/],
    ['## 1.2.0 (2026-02-30)\n- [CHANGE] C.\n', /2026-02-30 is not a date/],
    ['## 1.2.0 (2026-06-02)\n- [CHANGE] C.\n', /in the future/],
    [`${good}\n## Pending\n- [CHANGE] C.\n`, /must be the first entry/],
    ['## 1.1.0 (2026-05-01)\n- [CHANGE] C.\n', /top entry is 1\.1\.0, but package\.json has 1\.2\.0/],
    ['## Pending\n\n## 1.3.0 (2026-05-01)\n- [CHANGE] C.\n', /1\.3\.0 is listed/],
    [`${good}\n## 1.1.10 (2026-03-01)\n- [CHANGE] C.\n`, /1\.1\.9 is listed above 1\.1\.10/],
    [`${good}\n## 1.0.0 (2026-04-02)\n- [CHANGE] C.\n`, /1\.1\.9 is dated before 1\.0\.0/],
  ])('%j is refused', (text, reason) => {
    expect(mistakesOf(text).join('; ')).toMatch(reason);
  });

  test('an empty Pending section cannot be released', () => {
    const [mistake] = mistakesOf(`## Pending\n- [CHANGE] C.\n${good}`, { release: true });
    expect(mistake).toMatch(/must become "## 1\.2\.0 \(2026-06-01\)"/);
  });
});

test('a release of another version than the tag is refused', () => {
  const done = spawnSync(process.execPath, ['scripts/release.mjs', 'check', '--tag', 'v99.0.0'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(done.status).toBe(1);
  expect(done.stderr).toContain(`the tag is v99.0.0, but package.json has ${version}`);
});

describe('bills of materials', async () => {
  const { billedFolders, billOf } = await part('sbom.mjs');
  const folders = billedFolders?.(root) as { name: string; folder: string }[];
  type Bill = {
    bomFormat: string;
    specVersion: string;
    serialNumber: string;
    metadata: { timestamp: string; component: Record<string, string> };
    components: {
      name: string;
      version: string;
      purl: string;
      hashes?: { alg: string; content: string }[];
    }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };

  test('there is one of the agent, of each runtime and of the engines', () => {
    expect(folders.map(({ name }) => name).sort()).toEqual(
      ['agent', 'engines', 'runtime-2024.09', 'runtime-2025.04', 'runtime-2026.04'].sort(),
    );
  });

  test.each(['agent', 'runtime-2026.04', 'engines'])(
    '%s: every package of the lock file, and the same file each time',
    (name) => {
      const each = folders.find((folder) => folder.name === name);
      const options = { version: '1.2.3', time: '2026-01-31T00:00:00.000Z' };
      const text = billOf?.(each, options) as string;
      expect(billOf?.(each, options)).toBe(text);
      const bill = JSON.parse(text) as Bill; // looked at next
      expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
      expect(bill.serialNumber).toMatch(
        /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect(bill.metadata.timestamp).toBe(options.time);
      expect(bill.metadata.component).toMatchObject({ version: '1.2.3' });
      const lock = JSON.parse(readFileSync(join(each?.folder ?? '', 'package-lock.json'), 'utf8')) as {
        packages: Record<string, { name?: string; version: string; dev?: boolean; link?: boolean }>;
      }; // npm's own file
      const listed = new Set(bill.components.map((component) => `${component.name}@${component.version}`));
      const missing = Object.entries(lock.packages)
        .filter(([path, { dev, link }]) => path !== '' && dev !== true && link !== true)
        .map(
          ([path, locked]) =>
            `${locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 13)}@${locked.version}`,
        )
        .filter((reference) => !listed.has(reference));
      expect(missing).toEqual([]);
      const refs = new Set(bill.components.map(({ purl }) => purl));
      expect(refs.size).toBe(bill.components.length);
      for (const { purl, hashes = [] } of bill.components) {
        expect(purl).toMatch(/^pkg:npm\/(%40[^/]+\/)?[^/@]+@[^@]+$/);
        for (const { alg, content } of hashes) {
          expect(`${alg} ${content}`).toMatch(/^(SHA-512 [0-9a-f]{128}|SHA-1 [0-9a-f]{40})$/);
        }
      }
      // Whatever is there is there for somebody's sake.
      const needed = new Set(bill.dependencies.flatMap(({ dependsOn }) => dependsOn));
      expect([...needed].filter((ref) => !refs.has(ref))).toEqual([]);
      expect([...refs].filter((ref) => !needed.has(ref) && !/%40location-agent/.test(ref))).toEqual([]);
      expect(text).not.toContain(root);
    },
  );
});

describe('provenance', async () => {
  const { builderOf, provenance, publicRemote } = await part('provenance.mjs');
  const file = { name: 'a.tgz', sha256: 'a'.repeat(64) };

  test('it is an in-toto statement with the digests of the products and the materials', () => {
    expect(
      provenance?.({
        subjects: [file],
        source: { uri: 'git+https://git.example/agent.git', commit: 'c'.repeat(40), dirty: false },
        materials: [{ name: 'package-lock.json', sha256: 'b'.repeat(64) }],
        byproducts: [{ name: 'sbom.json', sha256: 'd'.repeat(64) }],
        version: '1.2.3',
        builder: builderOf?.({}),
        times: { started: '2026-01-31T00:00:00.000Z', finished: '2026-01-31T00:01:00.000Z' },
      }),
    ).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'a.tgz', digest: { sha256: 'a'.repeat(64) } }],
      predicateType: 'https://slsa.dev/provenance/v1',
      predicate: {
        buildDefinition: {
          buildType: 'urn:private-location-agent:release:1',
          externalParameters: { version: '1.2.3', source: 'git+https://git.example/agent.git' },
          internalParameters: {
            node: process.version,
            platform: `${process.platform}-${process.arch}`,
            uncommitted: false,
          },
          resolvedDependencies: [
            { uri: 'git+https://git.example/agent.git', digest: { gitCommit: 'c'.repeat(40) } },
            { name: 'package-lock.json', digest: { sha256: 'b'.repeat(64) } },
          ],
        },
        runDetails: {
          builder: { id: 'urn:private-location-agent:builder:local' },
          metadata: {
            invocationId: 'local',
            startedOn: '2026-01-31T00:00:00.000Z',
            finishedOn: '2026-01-31T00:01:00.000Z',
          },
          byproducts: [{ name: 'sbom.json', digest: { sha256: 'd'.repeat(64) } }],
        },
      },
    });
  });

  test.each([
    ['https://user:secret@git.example/a/b.git?token=x#y', 'git+https://git.example/a/b.git'],
    ['git@git.example:a/b.git', 'git+ssh://git.example/a/b.git'],
    ['ssh://git@git.example:22/a/b.git', 'git+ssh://git.example:22/a/b.git'],
    ['/home/somebody/agent', null],
    ['file:///home/somebody/agent', null],
    ['', null],
  ])('the remote %j is reported as %j', (remote, told) => {
    expect(publicRemote?.(remote)).toBe(told);
  });

  test('a hosted runner is named by its workflow and run', () => {
    const env = {
      GITHUB_SERVER_URL: 'https://git.example',
      GITHUB_REPOSITORY: 'a/b',
      GITHUB_WORKFLOW_REF: 'a/b/.github/workflows/release.yml@refs/tags/v1.2.3',
      GITHUB_RUN_ID: '7',
      GITHUB_RUN_ATTEMPT: '2',
    };
    expect(builderOf?.(env)).toEqual({
      id: 'https://git.example/a/b/.github/workflows/release.yml@refs/tags/v1.2.3',
      invocation: 'https://git.example/a/b/actions/runs/7/attempts/2',
    });
  });
});

test('four images for both architectures, with version, commit and attestations, pushed only on request', () => {
  const dry = (...args: string[]) =>
    execFileSync(process.execPath, ['scripts/release.mjs', 'images', '--dry-run', ...args], {
      cwd: root,
      encoding: 'utf8',
    })
      .trim()
      .split('\n');
  const lines = dry('--repository', 'registry.example/location-agent');
  expect(lines.map((line) => /--tag (\S+)/.exec(line)?.[1])).toEqual([
    `registry.example/location-agent:${version}`,
    `registry.example/location-agent-uptime:${version}`,
    `registry.example/location-agent-dev:${version}`,
    `registry.example/location-agent:${version}-migrate-202409-202604`,
  ]);
  for (const line of lines) {
    expect(line).toContain('--platform linux/amd64,linux/arm64');
    expect(line).toMatch(new RegExp(`--build-arg VERSION=${version} --build-arg REVISION=[0-9a-f]{40} `));
    expect(line).toContain('--provenance=mode=max --sbom=true');
    expect(line).not.toContain('--push');
  }
  expect(lines[2]).toContain(`--build-arg BASE=registry.example/location-agent:${version} `);
  expect(lines.at(-1)).toContain("--build-arg 'RUNTIMES=2024.09 2025.04 2026.04'");
  expect(dry('--push').every((line) => line.includes(' --push '))).toBe(true);
});

test.each([
  ['agent', 'location-agent', ['values.yaml', 'files/rules.yaml', 'files/dashboard.json']],
  ['service', 'monitoring-service', ['values.yaml', 'files/rules.yaml', 'templates/tests/service.yaml']],
])(
  'the archive of charts/%s holds its files below %s, and is the same each time',
  async (chart, own, files) => {
    const { chartArchive } = await part('archive.mjs');
    const folder = join(root, 'charts', chart);
    const options = { version, time: '2026-01-31T00:00:00.000Z' };
    const archive = async () => (await chartArchive?.(folder, options)) as { name: string; bytes: Buffer };
    const { name, bytes } = await archive();
    expect(name).toBe(`${own}-${version}.tgz`);
    const names: string[] = [];
    const reader = extract();
    reader.end(gunzipSync(bytes));
    for await (const entry of reader) {
      names.push(entry.header.name);
      expect(entry.header.mtime).toEqual(new Date(options.time));
      entry.resume();
    }
    expect(names).toEqual(expect.arrayContaining(['Chart.yaml', ...files].map((file) => `${own}/${file}`)));
    expect(names.every((entry) => entry.startsWith(`${own}/`))).toBe(true);
    const digest = (part: Buffer) => createHash('sha256').update(part).digest('hex');
    expect(digest((await archive()).bytes)).toBe(digest(bytes));
    await expect(chartArchive?.(folder, { ...options, version: '99.0.0' })).rejects.toThrow(
      /version in Chart\.yaml is .*, but package\.json has 99\.0\.0/,
    );
  },
);

/** Ends it at once: none of these may come as far as a build. */
const called = (...args: string[]) => {
  const [script = '', ...more] = args;
  const done = spawnSync(process.execPath, [`scripts/${script}`, ...more], { cwd: root, encoding: 'utf8' });
  return { code: done.status, stderr: done.stderr, stdout: done.stdout };
};

test.each([
  [
    'release: --image a@sha256:12: use NAME@sha256:… with 64 hexadecimal',
    'release.mjs pack --image a@sha256:12',
  ],
  ['release: name a command: check, images, pack, publish.', 'release.mjs'],
  ['release: name a command: check, images, pack, publish.', 'release.mjs check pack'],
  ["release: Unknown option '--psuh'", 'release.mjs images --psuh'],
  ["release: Option '--tag <value>' argument missing", 'release.mjs check --tag'],
  [
    'release: --debs and --without-deb exclude each other',
    'release.mjs pack --debs build/debs --without-deb',
  ],
  ['release: --push is an option of images, not of check', 'release.mjs check --push'],
  [
    'release: --repository Mine/agent:1: use a name in lower case without tag',
    'release.mjs images --repository Mine/agent:1',
  ],
  ["images: Unknown option '--no-biuld'", 'images.mjs --no-biuld'],
  ['images: unknown image "small": use migrate, full, uptime, dev', 'images.mjs --no-build small'],
  ['images: --starts must be a number from 1 to 50', 'images.mjs --no-build --starts 0'],
  ["test-images: Unknown option '--fast'", 'test-images.mjs --fast'],
  ["chart: Unknown option '--chekc'", 'chart.mjs --chekc'],
])('%s: one line, and exit code 64', (line, command) => {
  const { code, stderr, stdout } = called(...command.split(' '));
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toContain(line);
  expect([code, stdout]).toEqual([64, '']);
});

test('--debs wants the packages of both processors, of this version, before anything is written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  const out = join(folder, 'out');
  const pack = () => called('release.mjs', 'pack', '--uncommitted', '--out', out, '--debs', folder);
  try {
    expect(pack().stderr).toContain('found nothing');
    writeFileSync(join(folder, `private-location-agent_${version}_amd64.deb`), 'deb');
    writeFileSync(join(folder, 'private-location-agent_0.0.1_arm64.deb'), 'deb');
    const { code, stderr } = pack();
    expect(stderr).toMatch(/^release: --debs .*: expected .*_amd64\.deb and .*_arm64\.deb, found .*\n$/);
    expect([code, existsSync(out)]).toEqual([1, false]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a folder with other files is not changed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    writeFileSync(join(folder, 'diary.txt'), 'dear');
    const { code, stderr } = called('release.mjs', 'pack', '--uncommitted', '--out', folder);
    expect(stderr).toMatch(
      /^release: --out .*: diary\.txt in it does not belong to a release; use an empty folder\n$/,
    );
    expect(code).toBe(1);
    expect(readFileSync(join(folder, 'diary.txt'), 'utf8')).toBe('dear');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
