import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { embeddedIpv4 } from '../../src/addresses/embedded-ipv4.ts';

/** The launcher's table of IPv6 addresses that carry IPv4 addresses is the same as that of the agent. */

const root = resolve(import.meta.dirname, '..', '..');
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'location-agent-carried-'));
  const sources = [
    join(root, 'test', 'fixtures', 'confinement', 'carried.c'),
    join(root, 'src', 'native', 'launcher', 'network', 'embedded.c'),
  ];
  const built = spawnSync('cc', ['-Wall', '-o', join(folder, 'carried'), ...sources], { encoding: 'utf8' });
  expect(built.stderr).toBe('');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Numbers below `limit`, the same ones in every run. */
function createNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Beginnings of all forms and of their neighbours, each with many ends. */
function addresses(): string[] {
  const number = createNumbers(20_261_123);
  const beginnings = [
    [],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0x64, 0xff, 0x9b, 0, 0, 0, 1],
    [0, 0x64, 0xff, 0x9b, 0, 1],
    [0, 0x64, 0xff, 0x9b, 0, 2],
    [0x20, 0x02],
    [0x20, 0x03],
    [0x20, 0x01, 0, 0],
    [0x20, 0x01, 0, 1],
    [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x5e, 0xfe],
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 2, 0, 0x5e, 0xfe],
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 1, 0, 0x5e, 0xfe],
  ];
  const fixed = ['::', '::1', '::2', '64:ff9b:1::', '64:ff9b:1:a9fe:a9:fe00::', '64:ff9b:1::7f00:1'];
  const made = beginnings.flatMap((beginning) =>
    Array.from({ length: 400 }, () => {
      // Zeros decide which form an address of 64:ff9b:1::/48 has.
      const byte = () => (number(2) === 0 ? 0 : number(256));
      const rest = Array.from({ length: 16 - beginning.length }, byte);
      return new ipaddr.IPv6([...beginning, ...rest]).toString();
    }),
  );
  return [...fixed, ...made];
}

test('both tables find the same addresses in the same IPv6 addresses', () => {
  const list = addresses().filter((text) => !ipaddr.IPv6.parse(text).isIPv4MappedAddress());
  const { stdout, status } = spawnSync(join(folder, 'carried'), {
    input: list.map((text) => `${text}\n`).join(''),
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  const sorted = (found: readonly string[]) => [...new Set(found)].toSorted().join(' ');
  const ofLauncher = stdout.split('\n').slice(0, -1);
  expect(ofLauncher).toHaveLength(list.length);
  const different = list.flatMap((text, at) => {
    const agent = sorted(embeddedIpv4(ipaddr.IPv6.parse(text)).addresses.map(String));
    const launcher = sorted((ofLauncher[at] ?? '').split(' ').filter((found) => found !== ''));
    return agent === launcher ? [] : [{ text, agent, launcher }];
  });
  expect(different.slice(0, 10)).toEqual([]);
});
