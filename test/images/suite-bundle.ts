import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { packBundle } from '../../src/script/suite/bundle/pack.ts';
import { world } from './world.ts';

/** Playwright projects whose packages come from the registry of the targets, and are those of the image's own runtime. */

/** The variables of an agent whose suites use that registry and download no browser. */
export const suiteEnvironment = {
  npm_config_registry: 'http://targets:4873/',
  PLAYWRIGHT_DOWNLOAD_HOST: 'http://targets:9',
};

const { dependencies } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../runtimes/2026.04/package.json'), 'utf8'),
) as { dependencies: { [name: string]: string } };
const version = dependencies['@playwright/test'] ?? '';

const manifest = {
  name: 'project',
  version: '1.0.0',
  private: true,
  devDependencies: { '@playwright/test': version },
};
// Without checksums: the image's packages are pruned, so theirs are others than the registry of the world's.
const lock = {
  name: manifest.name,
  version: manifest.version,
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { ...manifest, private: undefined },
    'node_modules/@playwright/test': {
      version,
      dev: true,
      dependencies: { playwright: version },
      bin: { playwright: 'cli.js' },
    },
    'node_modules/playwright': {
      version,
      dev: true,
      dependencies: { 'playwright-core': version },
      bin: { playwright: 'cli.js' },
    },
    'node_modules/playwright-core': { version, dev: true, bin: { 'playwright-core': 'cli.js' } },
  },
};

/** Packs and uploads a project with these tests; the bundle's key. */
export async function uploadSuite(files: { [name: string]: string }): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'image-tests-suite-'));
  try {
    const project = join(folder, 'project');
    mkdirSync(project);
    const all = {
      'package.json': JSON.stringify(manifest),
      'package-lock.json': JSON.stringify(lock),
      'playwright.config.ts': 'export default { workers: 1 };',
      ...files,
    };
    for (const [name, text] of Object.entries(all)) writeFileSync(join(project, name), text);
    const archive = join(folder, 'bundle.tar.gz');
    await packBundle({ folder: project, to: archive });
    const answer = await fetch(`${world.serviceUrl}/v1/playwright-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.apiKey}`, 'content-type': 'application/octet-stream' },
      body: readFileSync(archive),
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { key: string }).key; // the API's own answer
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
