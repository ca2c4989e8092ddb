import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  credentialsAdvice,
  linesWithVariables,
  missingVariables,
  networkAdvice,
  readRegistrySettings,
} from '../../../src/script/suite/install/registry-settings.ts';

/** Registry settings in the files of a project, and the output of its installer: both are the customer's texts. */

export const name = 'registry-settings';
export const maxBytes = 300 * 1024;

let root: string | null = null;
const env = { NPM_TOKEN: 'walnut-4711', EMPTY: '' };
const files = ['.npmrc', 'pnpm-workspace.yaml', '.yarnrc.yml', '.yarnrc', 'bunfig.toml'];

/** The part before a byte of zero is the content of every file, and the rest the installer's output. */
export function run(data: Buffer): void {
  root ??= mkdtempSync(join(tmpdir(), 'fuzz-registry-'));
  const cut = data.indexOf(0);
  const content = cut < 0 ? data : data.subarray(0, cut);
  const lines =
    cut < 0
      ? []
      : data
          .subarray(cut + 1)
          .toString()
          .split('\n');
  const folder = join(root, 'project');
  mkdirSync(folder, { recursive: true });
  for (const file of files) writeFileSync(join(folder, file), content);
  for (const line of linesWithVariables(folder, env)) {
    if (/\$\{(?!NPM_TOKEN\??\}|EMPTY\??\})\w+\??\}/.test(line))
      throw new Error(`an unset variable in ${line}`);
  }
  for (const manager of ['npm', 'pnpm', 'yarn', 'bun'] as const) {
    const settings = readRegistrySettings({ project: folder, working: folder }, { name: manager, folder });
    missingVariables(settings, env);
    credentialsAdvice(lines, { settings, env });
    networkAdvice(lines[0] ?? '', { settings, env });
  }
}

export const close = (): void => {
  if (root !== null) rmSync(root, { recursive: true, force: true });
};

export const seeds = (): string[] => [
  'registry=https://npm.shop.test/\n//npm.shop.test/:_authToken=${NPM_TOKEN}\n',
  '@shop:registry=https://npm.shop.test/a\n; ${OTHER}\n#x=${EMPTY}\n${A}=${NPM_TOKEN?}\n',
  'npmRegistryServer: "https://npm.shop.test"\nnpmAuthToken: "${NPM_TOKEN:-}"\n',
  '[install]\nregistry = { url = "https://npm.shop.test", token = "$NPM_TOKEN" }\n',
  'x=1\0npm ERR! code E401\nnpm ERR! 401 Unauthorized - GET https://npm.shop.test/a',
  'x=1\0WARN\n Failed to replace env in config: ${NPM_TOKEN}\n',
  'registry=https://[::1/\0YN0041: https://[bad 403 Forbidden',
];

export const dictionary = [
  'registry=',
  '${',
  '}',
  '?}',
  ':-',
  '//',
  '_authToken=',
  '\n',
  '\r',
  '\0',
  '; ',
  '#',
  '401',
  'E403',
  'https://',
  '"',
  "'",
];
