import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..');
const hasCompiler = spawnSync('cc', ['--version']).status === 0;

describe('scripts/native.mjs', () => {
  let folder = '';
  const addon = () => join(folder, 'build', 'native', 'location_agent.node');
  const build = (env: NodeJS.ProcessEnv = {}) => {
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'scripts', 'native.mjs')], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
    return { status, stderr };
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'location-agent-build-'));
    mkdirSync(join(folder, 'scripts'));
    cpSync(join(root, 'scripts', 'native.mjs'), join(folder, 'scripts', 'native.mjs'));
    for (const part of ['addon', 'launcher', 'raw-socket']) {
      cpSync(join(root, 'src', 'native', part), join(folder, 'src', 'native', part), { recursive: true });
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const pings = 'ICMP checks need the raw-socket package, and do not run if that is missing too';
  const unconfined = 'scripts run without confinement';
  const pingsOnly = 'an agent without privileges sends pings only through ping sockets';

  it('names what is missing without a compiler', () => {
    expect(build({ PATH: join(folder, 'nothing'), CC: '' })).toEqual({
      status: 1,
      stderr: `no C compiler for the native addon, the launcher, the raw-socket helper: install gcc and libc6-dev; until then ${pings}; ${unconfined}; ${pingsOnly}\n`,
    });
  });

  it('reports why it does not compile, and leaves no file', () => {
    const broken = join(folder, 'broken-cc');
    writeFileSync(
      broken,
      '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "a.c:1: error: no" >&2\nexit 1\n',
      {
        mode: 0o755,
      },
    );
    expect(build({ CC: broken })).toEqual({
      status: 1,
      stderr: [
        `the native addon does not compile (a.c:1: error: no): install gcc and libc6-dev; until then ${pings}`,
        `the launcher does not compile (a.c:1: error: no): install gcc and libc6-dev; until then ${unconfined}`,
        `the raw-socket helper does not compile (a.c:1: error: no): install gcc and libc6-dev; until then ${pingsOnly}`,
        '',
      ].join('\n'),
    });
    expect(existsSync(addon())).toBe(false);
  });

  it.skipIf(!hasCompiler)(
    'builds without a warning, and again only when a source is newer',
    () => {
      expect(build()).toEqual({ status: 0, stderr: '' });
      const first = statSync(addon()).ino;
      expect(build()).toEqual({ status: 0, stderr: '' });
      expect(statSync(addon()).ino).toBe(first);
      const later = new Date(Date.now() + 60_000);
      utimesSync(join(folder, 'src', 'native', 'addon', 'echo.c'), later, later);
      expect(build()).toEqual({ status: 0, stderr: '' });
      expect(statSync(addon()).ino).not.toBe(first);
    },
    60_000,
  );
});
