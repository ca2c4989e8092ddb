import type { AgentConfig } from '../config.ts';
import type { Job } from '../protocol/job.ts';
import { createScrubberCache } from '../secrets/scrubber-cache.ts';
import type { NamedSecret, Scrubber } from '../secrets/scrubber.ts';

const secretPrefix = 'SERVICE_SECRET_';

/** What the agent itself must not let out: its key if it has one, SERVICE_SECRET_* of its environment, passwords of its proxies. */
export function ownSecrets(
  config: Pick<AgentConfig, 'proxy' | 'secrets'> & { readonly apiKey?: AgentConfig['apiKey'] },
): NamedSecret[] {
  const proxies = [config.proxy.httpProxy, config.proxy.httpsProxy].flatMap((proxy) =>
    proxy === null ? [] : passwordsOf('HTTP(S)_PROXY', proxy.reveal()),
  );
  return [
    ...(config.apiKey === undefined ? [] : [{ name: 'API_KEY', value: config.apiKey.reveal() }]),
    ...config.secrets.map((secret) => ({ name: `${secretPrefix}*`, value: secret.reveal() })),
    ...proxies,
  ];
}

/**
 * The scrubber of each job: the agent's own secrets and the job's. Jobs without secrets of their own share `base`, the
 * others one scrubber per set of secrets.
 */
export function jobScrubbers(own: readonly NamedSecret[], base: Scrubber): (job: Job) => Scrubber {
  const cache = createScrubberCache();
  return (job) => {
    const secrets = secretsOf(job);
    return secrets.length === 0 ? base : cache.scrubberFor([...own, ...secrets]);
  };
}

/** Secret variables of a job, and the passwords that it hands to proxies, servers and keys. */
function secretsOf(job: Job): NamedSecret[] {
  const secrets: NamedSecret[] = [];
  for (const { key, value, secret } of job.environmentVariables) {
    if (secret || key.startsWith(secretPrefix)) secrets.push({ name: key, value });
  }
  if (job.proxyUrl !== null) secrets.push(...passwordsOf('proxyUrl', job.proxyUrl));
  if (job.checkType === 'API') {
    for (const { passphrase } of job.clientCertificates) {
      if (passphrase !== null) secrets.push({ name: 'clientCertificates.passphrase', value: passphrase });
    }
    const { basicAuth, headers, queryParameters } = job.request;
    if (basicAuth !== null) secrets.push(...literal('basicAuth.password', basicAuth.password));
    for (const { key, value, locked } of [...headers, ...queryParameters]) {
      if (locked) secrets.push(...literal(key, value));
    }
  }
  if (job.checkType === 'API' || job.checkType === 'URL') {
    secrets.push(...passwordsOf('request.url', job.request.url));
  }
  return secrets;
}

/** A value that stands in the job itself. One made from variables is as secret as those are. */
function literal(name: string, value: string): NamedSecret[] {
  return value === '' || value.includes('{{') ? [] : [{ name, value }];
}

function passwordsOf(name: string, url: string): NamedSecret[] {
  if (!URL.canParse(url)) return [];
  const { password } = new URL(url);
  if (password === '') return [];
  return [{ name: `${name} password`, value: decoded(password) }];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
