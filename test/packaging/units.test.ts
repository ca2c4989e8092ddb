import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readAgentConfig } from '../../src/config.ts';
import { readServiceConfig } from '../../src/config/service.ts';

/** The systemd units and the maintainer scripts of the Debian package, as systemd and the shell read them. */

const folder = resolve(import.meta.dirname, '../../packaging/debian');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd) process.stderr.write('skipped here: analysis of the systemd units, without systemd\n');
const units = ['location-agent.service', 'location-service.service'];
/** Values of a setting, in order. */
const settings = (unit: string, name: string) =>
  [...read(unit).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

test.skipIf(!hasSystemd).each(units)('%s: systemd rates its exposure at most 3.0', (unit) => {
  const args = ['security', '--offline=true', '--no-pager', '--threshold=30', join(folder, unit)];
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  expect(stdout).toContain('Overall exposure level');
  expect(`${stderr}`).not.toMatch(/Unknown|ignoring/);
  expect(status, stdout.split('\n').slice(-3).join('\n')).toBe(0);
});

test.skipIf(!hasSystemd).each(units)('%s: systemd finds no mistake', (unit) => {
  const root = mkdtempSync(join(tmpdir(), 'units-'));
  try {
    const copy = join(root, unit);
    // The programs are where the package puts them, not here.
    writeFileSync(copy, read(unit).replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'));
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', copy], {
      encoding: 'utf8',
    });
    expect(stderr.split('\n').filter((line) => line.includes(unit))).toEqual([]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test.each(units)('%s: readiness, watchdog, credentials and a user of its own', (unit) => {
  expect(settings(unit, 'Type')).toEqual(['notify']);
  expect(settings(unit, 'NotifyAccess')).toEqual(['main']);
  expect(settings(unit, 'DynamicUser')).toEqual(['yes']);
  expect(settings(unit, 'LoadCredential')).toHaveLength(1);
  expect(settings(unit, 'WatchdogSec')).toHaveLength(1);
  expect(settings(unit, 'CapabilityBoundingSet')).toEqual(['']);
});

test('the agent has time to hand its runs back before systemd kills it', () => {
  const config = readAgentConfig({ API_KEY: 'pl_0123456789abcdef0123456789abcdef' });
  const [stop = ''] = settings('location-agent.service', 'TimeoutStopSec');
  expect(parseInt(stop, 10)).toBeGreaterThan(config.shutdownGraceSeconds);
});

test('start-service hands each credential on as a file', () => {
  const root = mkdtempSync(join(tmpdir(), 'units-'));
  try {
    const credentials = join(root, 'credentials');
    mkdirSync(credentials);
    writeFileSync(join(credentials, 'credentials_DATABASE_URL'), 'postgres://me@db/service\n');
    writeFileSync(join(credentials, 'credentials_SERVICE_ENCRYPTION_KEY'), 'abcdefghijklmnop\n');
    const script = read('start-service.sh').replace('exec /usr/bin/location-agent service', 'exec env');
    const { stdout } = spawnSync('sh', ['-c', script], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], CREDENTIALS_DIRECTORY: credentials },
    });
    const env = Object.fromEntries(stdout.split('\n').map((line) => line.split(/=(.*)/, 2)));
    const config = readServiceConfig(env);
    expect(config.databaseUrl?.reveal()).toBe('postgres://me@db/service');
    expect(config.encryptionKey?.reveal()).toBe('abcdefghijklmnop');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test.each(['postinst', 'prerm', 'postrm', 'location-agent.sh', 'start-service.sh'])(
  '%s is a shell script without mistakes of syntax',
  (name) => {
    expect(read(name).startsWith('#!/bin/sh\n')).toBe(true);
    expect(spawnSync('sh', ['-n', join(folder, name)], { encoding: 'utf8' })).toMatchObject({ status: 0 });
  },
);

test('only a purge deletes data and keys', () => {
  const script = read('postrm');
  const onlyOnPurge = script.slice(script.indexOf('if [ "$1" = purge ]'));
  for (const path of ['/etc/location-agent', '/etc/location-service', '/var/lib']) {
    expect(onlyOnPurge).toContain(path);
    expect(script.slice(0, script.indexOf('if [ "$1" = purge ]'))).not.toContain(path);
  }
});
