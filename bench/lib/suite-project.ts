import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Playwright projects for suite benchmarks, with the packages of the fixture `npm-features` from this machine's registry. */

const root = process.cwd();
export const enginesFolder = join(root, 'engines');

/** The compiled sources expect these folders next to them. */
export function linkPackageFolders(): void {
  for (const name of ['engines', 'runtimes']) {
    const link = join(root, 'build', 'bench', name);
    if (!existsSync(link)) symlinkSync(join(root, name), link);
  }
}

export function makeProject(folder: string, files: { readonly [path: string]: string }): string {
  mkdirSync(folder, { recursive: true });
  const fixture = join(root, 'test', 'fixtures', 'suites', 'npm-features');
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(fixture, name), join(folder, name));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Environment for installers on this machine; it prevents browser downloads. */
export function installerVariables(): { [name: string]: string } {
  const configured = process.env['npm_config_registry'] ?? '';
  const registry =
    configured === ''
      ? execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
      : configured;
  const names = /^(?:https?_proxy|no_proxy|node_extra_ca_certs)$/i;
  const found = Object.entries(process.env).filter(([name]) => names.test(name));
  return {
    ...Object.fromEntries(found.map(([name, value]) => [name, value ?? ''])),
    npm_config_registry: registry,
    PLAYWRIGHT_DOWNLOAD_HOST: 'http://127.0.0.1:9',
  };
}
