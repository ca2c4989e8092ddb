import { execFileSync } from 'node:child_process';
import { EnvHttpProxyAgent, fetch } from 'undici';

/** Where this machine gets packages from: suites install theirs while a test runs. */

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

/** Whether packages can be had. Says so in one line where not. */
export async function reachesRegistry(): Promise<boolean> {
  const url = new URL('@playwright%2ftest', registry.endsWith('/') ? registry : `${registry}/`);
  const dispatcher = new EnvHttpProxyAgent();
  try {
    const answer = await fetch(url, { method: 'HEAD', dispatcher, signal: AbortSignal.timeout(20_000) });
    if (answer.ok) return true;
    process.stderr.write(`skipped here: suites: the registry of packages answers ${answer.status}\n`);
  } catch {
    process.stderr.write('skipped here: suites, whose packages no registry gives here\n');
  } finally {
    void dispatcher.close();
  }
  return false;
}
