import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Playwright as a package of the project: the service drives browsers with it, and `npm ci` brings no browser along. */

const root = join(import.meta.dirname, '..');
const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as unknown;

type Locked = { version: string; dev?: boolean; hasInstallScript?: boolean };

test('is a pinned dependency of the program, and runs no install script', () => {
  const { dependencies } = read('package.json') as { dependencies: { [name: string]: string } };
  const { packages } = read('package-lock.json') as { packages: { [path: string]: Locked } };
  const locked = ['playwright', 'playwright-core'].map((name) => packages[`node_modules/${name}`]);
  expect(dependencies['playwright']).toMatch(/^\d+\.\d+\.\d+$/);
  expect(locked.map((one) => [one?.version, one?.dev, one?.hasInstallScript])).toEqual([
    [dependencies['playwright'], undefined, undefined],
    [dependencies['playwright'], undefined, undefined],
  ]);
});
