import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EnvHttpProxyAgent, fetch } from 'undici';

/** Where this machine gets packages from: suites install theirs while a test runs. */

/** Written when the registry has answered. */
const answered = join(
  import.meta.dirname,
  '../../../node_modules/.cache/location-agent/registry-has-answered',
);

/** The registry that npm is configured with. */
export const registry: string = (() => {
  const told = process.env['npm_config_registry'] ?? '';
  if (told !== '') return told;
  const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
  try {
    return execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8', stdio }).trim();
  } catch {
    return 'https://registry.npmjs.org/';
  }
})();

/** What installers of suites are handed here, as an agent's own environment would have it. */
export function registryVariables(): { [name: string]: string } {
  const names = /^(?:https?_proxy|no_proxy|npm_config_(?:cafile|.*proxy)|node_extra_ca_certs)$/i;
  const entries = Object.entries(process.env).filter(([name]) => names.test(name));
  return {
    ...Object.fromEntries(entries.map(([name, value]) => [name, value ?? ''])),
    npm_config_registry: registry,
  };
}

/** Browsers of Playwright's own, for four releases, are more than a test may download: what the machine has is used. */
export const noDownloads = { PLAYWRIGHT_DOWNLOAD_HOST: 'http://127.0.0.1:9' };

/**
 * Whether packages can be had. Says so in one line where not. A registry may be slow or answer with an error once in a while:
 * it is asked up to three times, and not again for a while by other files once it has answered.
 */
export async function reachesRegistry(): Promise<boolean> {
  if (Date.now() - (statSync(answered, { throwIfNoEntry: false })?.mtimeMs ?? 0) < 600_000) return true;
  const url = new URL('@playwright%2ftest', registry.endsWith('/') ? registry : `${registry}/`);
  const dispatcher = new EnvHttpProxyAgent();
  let why = '';
  try {
    for (let tries = 0; tries < 3; tries += 1) {
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, 2_000));
      try {
        const answer = await fetch(url, {
          method: 'HEAD',
          dispatcher,
          signal: AbortSignal.timeout(20_000),
        });
        if (answer.ok) {
          mkdirSync(dirname(answered), { recursive: true });
          writeFileSync(answered, '');
          return true;
        }
        why = `the registry of packages answers ${answer.status}`;
      } catch (error) {
        why = `no registry gives their packages here: ${String(error)}`;
      }
    }
  } finally {
    void dispatcher.close();
  }
  process.stderr.write(`skipped here: suites: ${why}\n`);
  return false;
}
