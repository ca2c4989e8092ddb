import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  canonicalManifest,
  dependencyKey,
  hashOf,
} from '../../../../src/script/suite/install/dependency-key.ts';
import type { ChosenManager } from '../../../../src/script/suite/install/package-manager.ts';
import type { Engine } from '../../../../src/script/suite/place/place.ts';

/** The key of cached dependencies: what it depends on. */

const folder = mkdtempSync(join(tmpdir(), 'dependency-key-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let project = '';
beforeEach(() => {
  project = mkdtempSync(join(folder, 'project-'));
  put('package.json', '{ "version": "1.0.0", "name": "shop" }\n');
  put('package-lock.json', '{}\n');
  put('packages/cart/package.json', '{"name":"cart"}');
  put('.npmrc', 'registry=https://r.example/\n');
});

function put(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}

const engine: Engine = { name: 'node', version: '22.23.3', bin: '/bin', readable: [] };
const key = (more: { installCommand?: string; working?: string; engine?: Engine; lockFile?: string } = {}) =>
  dependencyKey({
    place: {
      root: folder,
      project,
      working: join(project, more.working ?? ''),
      home: '',
      temporary: '',
      report: '',
    },
    suite: { installCommand: more.installCommand ?? null },
    manager: { lockFile: more.lockFile ?? 'package-lock.json' } as ChosenManager,
    engine: more.engine ?? engine,
  });

/** The rule written down a second time; of a file, what it holds is given. */
function byHand(records: readonly (readonly [string, string])[]): string {
  const parts = records.flatMap(([label, value]) => {
    const isFile = /^(?:lockfile|npmrc):/.test(label);
    return [Buffer.from(label), isFile ? createHash('sha256').update(value).digest() : Buffer.from(value)];
  });
  const bytes = parts.flatMap((part) => [0, 0, 0, 0, 0, 0, part.length >> 8, part.length & 255, ...part]);
  return createHash('sha256').update(Uint8Array.from(bytes)).digest('hex');
}

test('records have their lengths before them', () => {
  // printf '\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\2bc' | sha256sum
  expect(hashOf([['a', 'bc']])).toBe('3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205');
  expect(hashOf([['ab', 'c']])).not.toBe(hashOf([['a', 'bc']]));
});

test('the complete key, computed independently', async () => {
  expect(await key({ installCommand: 'npm ci', working: 'packages/cart' })).toBe(
    byHand([
      ['lockfile:package-lock.json', '{}\n'],
      ['npmrc:.npmrc', 'registry=https://r.example/\n'],
      ['package.json:package.json', '{"name":"shop"}'],
      ['package.json:packages/cart/package.json', '{"name":"cart"}'],
      ['installCommand', 'npm ci'],
      ['workingDir', 'packages/cart'],
      ['engine', 'node 22.23.3'],
      ['platform', `${process.platform} ${process.arch}`],
    ]),
  );
});

test('a manifest is canonical: keys in order, no version, HTML escaped', () => {
  const text = (value: string) => canonicalManifest(Buffer.from(value));
  expect(text('{"version":"1","b":{"version":"2","10":1,"9":2,"a":"<&>\u2028"},"a":[2,1]}')).toBe(
    String.raw`{"a":[2,1],"b":{"10":1,"9":2,"a":"\u003c\u0026\u003e\u2028","version":"2"}}`,
  );
  expect(text('\uFEFF{"name":"x"}')).toBe('{"name":"x"}');
  expect(text('not { json')).toBe('not { json');
});

test('the key depends on everything that affects an install, and on nothing else', async () => {
  const first = await key();
  expect(await key()).toBe(first);

  put('package.json', '{"name":"shop","version":"2.0.0"}');
  put('tests/login.spec.ts', 'test');
  put('node_modules/x/package.json', '{}');
  expect(await key()).toBe(first);

  const others = [
    await key({ installCommand: 'npm ci' }),
    await key({ working: 'packages/cart' }),
    await key({ engine: { ...engine, version: '22.23.4' } }),
    await key({ engine: { ...engine, name: 'bun' } }),
  ];
  for (const [path, text] of [
    ['package-lock.json', '{"a":1}\n'],
    ['packages/cart/package.json', '{"name":"cart","scripts":{"postinstall":"x"}}'],
    ['packages/cart/.npmrc', 'a=b\n'],
    ['pnpm-workspace.yaml', 'packages: []\n'],
    ['patches/left-pad.patch', 'diff\n'],
  ] as const) {
    put(path, text);
    others.push(await key());
  }
  expect(new Set([first, ...others]).size).toBe(others.length + 1);
});
