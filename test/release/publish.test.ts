import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';

/** Publication of a release folder, as commands that are only printed, and the versions and labels of the images. */

const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }; // our own file
const folder = mkdtempSync(join(tmpdir(), 'publish-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const publish = () => {
  const args = [
    'publish',
    '--dry-run',
    '--repository',
    'registry.example/own/location-agent',
    '--out',
    folder,
  ];
  return spawnSync(process.execPath, ['scripts/release.mjs', ...args], { cwd: root, encoding: 'utf8' });
};
const names = [
  `private-location-agent-${version}.tgz`,
  `location-agent-${version}.tgz`,
  `monitoring-service-${version}.tgz`,
  `private-location-agent_${version}_amd64.deb`,
  'provenance.intoto.json',
];

test('publishes every file once its digest is verified', () => {
  expect(publish().stderr).toContain('SHA256SUMS is missing: run node scripts/release.mjs pack first');
  for (const name of names) writeFileSync(join(folder, name), name);
  const sums = names.map((name) => `${createHash('sha256').update(name).digest('hex')}  ${name}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  const { stdout, status } = publish();
  expect(status).toBe(0);
  expect(stdout.trim().split('\n')).toEqual([
    `npm publish ./${names[0]} --provenance --access public`,
    `helm push ${names[1]} oci://registry.example/own/charts`,
    `helm push ${names[2]} oci://registry.example/own/charts`,
    `gh release create v${version} --verify-tag --notes Version ${version} ${[...names, 'SHA256SUMS'].join(' ')}`,
  ]);
  writeFileSync(join(folder, names[3] ?? ''), 'another');
  const changed = publish();
  expect([changed.status, changed.stdout]).toEqual([1, '']);
  expect(changed.stderr).toContain(`${names[3]} differs from SHA256SUMS`);
});

test('builds as docs/docker.md and compose.yaml describe them hand on the facts of the labels', () => {
  const facts = ['REVISION', 'CREATED', 'SOURCE'];
  const page = readFileSync(join(root, 'docs', 'docker.md'), 'utf8');
  const builds = page.split('\n').filter((line) => line.startsWith('docker build -t location-agent:'));
  expect(builds).toHaveLength(4);
  for (const line of builds) expect(line).toContain(' $facts ');
  expect(page).toContain(`facts='${facts.map((fact) => `--build-arg ${fact}`).join(' ')}'`);
  const compose = parse(readFileSync(join(root, 'docker', 'compose.yaml'), 'utf8'), { merge: true }) as {
    services: { [name: string]: { build?: { args?: { [fact: string]: string } } } };
  }; // our own file
  const built = Object.values(compose.services).filter(({ build }) => build !== undefined);
  expect(built.length).toBeGreaterThan(2);
  const args = Object.fromEntries(facts.map((fact) => [fact, `\${${fact}:-}`]));
  for (const { build } of built) expect(build?.args).toEqual(args);
});

test.each(['Dockerfile', 'Dockerfile.uptime', 'Dockerfile.dev'])(
  '%s, built without arguments, has the right version and no invented labels',
  (name) => {
    const text = readFileSync(join(root, name), 'utf8');
    expect(text).toContain(`\nARG VERSION=${version}\nARG REVISION=\nARG CREATED=\nARG SOURCE=\n`);
    const labels = [...text.matchAll(/org\.opencontainers\.image\.(\w+)=/g)].map(([, label]) => label);
    expect(new Set(labels)).toEqual(
      new Set([
        'created',
        'description',
        'documentation',
        'licenses',
        'revision',
        'source',
        'title',
        'vendor',
        'version',
      ]),
    );
  },
);
