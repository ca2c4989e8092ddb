import { join } from 'node:path';
import { ownPrograms } from './engines.ts';
import type { Engine, PackageManager, SuitePlace } from '../place/place.ts';

/** The environment of a run's programs, and the additions for installers. */

type Variables = { readonly [name: string]: string };

/**
 * Variables that each program of a run has in addition to the check's own: its engine first in PATH, its home, and
 * quiet tools.
 */
export function programEnvironment(
  env: Variables,
  options: { place: SuitePlace; engine: Engine; manager: Pick<PackageManager, 'env'> },
): { [name: string]: string } {
  const { place, engine, manager } = options;
  const own = join(place.home, ownPrograms);
  const path = env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';
  return {
    // Global npm installs go where programs are found and where the run may write.
    npm_config_prefix: own,
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
    YARN_ENABLE_TELEMETRY: '0',
    DO_NOT_TRACK: '1',
    ...env,
    ...manager.env,
    PATH: `${engine.bin}:${join(own, 'bin')}:${path}`,
    HOME: place.home,
    TMPDIR: place.temporary,
  };
}

/**
 * The environment of installers: the agent's variables, overridden by the run's. Proxies are set under both spellings
 * of their names, packages fetch no browsers, and development dependencies are never skipped.
 */
export function installEnvironment(env: Variables, beneath: Variables): { [name: string]: string } {
  const given = Object.entries(beneath).filter(([name]) => !/^npm_config_/i.test(name));
  const all: { [name: string]: string } = {
    ...bothSpellings(Object.fromEntries(given)),
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
    PUPPETEER_SKIP_DOWNLOAD: '1',
    PUPPETEER_SKIP_CHROMIUM_DOWNLOAD: '1',
    ...bothSpellings(env),
  };
  delete all['NODE_ENV'];
  return all;
}

const proxies = ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy'];

function bothSpellings(variables: Variables): { [name: string]: string } {
  const all = { ...variables };
  for (const lower of proxies) {
    const value = variables[lower] ?? variables[lower.toUpperCase()];
    if (value === undefined) continue;
    all[lower] = value;
    all[lower.toUpperCase()] ??= value;
  }
  return all;
}

/**
 * Defaults that the project's settings override: an unreachable registry fails, retries included, before the install's
 * time limit. With npm's default of 5 minutes per request, the install would seem to time out.
 */
const patience = ['fetch-timeout=70000'];

/**
 * Files for the run's home that pass the agent's registry and proxy settings to package managers, by name. Files,
 * because variables would override the project's own .npmrc or .yarnrc.yml.
 */
export function registrySettings(beneath: Variables): { [file: string]: string } {
  const npm: string[] = [...patience];
  const yarn: string[] = [];
  for (const [name, value] of Object.entries(beneath)) {
    const key = /^npm_config_(.+)$/i.exec(name)?.[1];
    if (key === undefined || /[\r\n]/.test(value)) continue;
    // npm reads the names of its variables in this form.
    const setting = key.startsWith('//') ? key : key.toLowerCase().replaceAll(/(?!^)_/g, '-');
    npm.push(`${setting}=${JSON.stringify(value)}`);
    if (setting === 'registry' && URL.canParse(value)) {
      const { protocol, hostname } = new URL(value);
      yarn.push(`npmRegistryServer: ${JSON.stringify(value.replace(/\/+$/, ''))}`);
      if (protocol === 'http:') yarn.push(`unsafeHttpWhitelist: [${JSON.stringify(hostname)}]`);
    }
  }
  const all = bothSpellings(beneath);
  // Yarn 2 and newer does not read these variables.
  for (const [variable, setting] of [
    ['HTTP_PROXY', 'httpProxy'],
    ['HTTPS_PROXY', 'httpsProxy'],
  ] as const) {
    const value = all[variable];
    if (value !== undefined && value !== '') yarn.push(`${setting}: ${JSON.stringify(value)}`);
  }
  const files: { [file: string]: string } = { '.npmrc': `${npm.join('\n')}\n` };
  if (yarn.length > 0) files['.yarnrc.yml'] = `${yarn.join('\n')}\n`;
  return files;
}
