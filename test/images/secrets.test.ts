import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { registry } from '../helpers/suites/suite-registry.ts';
import { images, startAgent } from './containers.ts';
import { docker } from './engine.ts';
import { searchLayers } from './layers.ts';
import { newLocation, runCheck, told, world } from './world.ts';

/** No image contains a secret or the place where it was built, and a running container shows its key only to the agent. */

const tags = images.map((name) => `location-agent:${name}`);

/** Hosts that this machine gets packages from, but those that all the world uses; passwords of its proxies. */
function buildSecrets(): string[] {
  const texts = [registry];
  for (const folder of ['/etc/apt/sources.list', '/etc/apt/sources.list.d'])
    if (existsSync(folder))
      texts.push(
        ...(folder.endsWith('.d') ? readdirSync(folder).map((name) => join(folder, name)) : [folder]).map(
          (file) => readFileSync(file, 'utf8'),
        ),
      );
  const hosts = texts.flatMap((text) =>
    [...text.matchAll(/https?:\/\/([^/:\s]+)/g)].map(([, host = '']) => host),
  );
  const passwords = Object.entries(process.env)
    .filter(([name]) => /_proxy$/i.test(name))
    .flatMap(([, value = '']) => (URL.canParse(value) ? [new URL(value).password] : []));
  const known =
    /(^|\.)(npmjs\.org|debian\.org|yarnpkg\.com|nodesource\.com|docker\.com|ubuntu\.com|microsoft\.com|google\.com|github\.com|launchpad(content)?\.net|localhost|127\.0\.0\.1)$/;
  return [...new Set([...hosts.filter((host) => !known.test(host)), ...passwords])].filter(
    (text) => text.length > 5,
  );
}

test(
  'no layer above the base image holds a credential, or a name of the machine that built it',
  { timeout: 300_000 },
  async () => {
    const bases = ['node:24-bookworm-slim', 'debian:bookworm-slim'];
    const layersOf = async (tag: string) =>
      JSON.parse(await docker('image', 'inspect', '--format', '{{json .RootFS.Layers}}', tag)) as string[];
    const base = (await Promise.all(bases.map((tag) => layersOf(tag).catch(() => [])))).flat();
    const { found, layers, files } = await searchLayers(tags, base, {
      texts: [...buildSecrets(), 'key_of_the_image_tests'],
      names:
        /\/(\.npmrc|\.netrc|\.env|\.git-credentials|\.dockercfg|\.yarnrc\.yml|id_rsa|id_ed25519|[^/]*\.key)$|\/\.(docker|aws|ssh|kube|git)\//,
    });
    process.stdout.write(`searched ${files} files in ${layers} layers\n`);
    expect(found).toEqual([]);
    expect(files).toBeGreaterThan(1_000);
  },
);

test('neither history nor settings of an image name a key or a registry', async () => {
  for (const tag of tags) {
    const told = (await docker('history', '--no-trunc', tag)) + (await docker('image', 'inspect', tag));
    for (const secret of buildSecrets()) expect(told, tag).not.toContain(secret);
    expect(told).not.toMatch(/\bpl_[a-z0-9]{8}|_authToken|PASSWORD=/);
  }
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'image-tests-key-'));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a customer's script finds of the key: in its own environment, in that of all processes, in their command lines. */
const spy = `
  import { expect, test } from '@playwright/test';
  import { readdirSync, readFileSync } from 'node:fs';
  const read = (path) => { try { return readFileSync(path, 'latin1'); } catch { return ''; } };
  test('looks around', () => {
    const pids = ['self', ...read('/proc/1/status') ? ['1'] : [], ...Array.from({ length: 400 }, (_, pid) => String(pid))];
    let open = [];
    try { open = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)); } catch {}
    const texts = [...pids, ...open].flatMap((pid) => ['environ', 'cmdline'].map((file) => read('/proc/' + pid + '/' + file)));
    texts.push(JSON.stringify(process.env), read('/run/secrets/location-key'));
    expect(texts.filter((text) => text.includes('API_KEY=') || /pl_[0-9a-f]{16}/.test(text)).length).toBe(0);
  });`;

test.each(['variable', 'file'] as const)('a key given by %s is visible only to the agent', async (way) => {
  const slug = `key-by-${way}`;
  const { key } = await newLocation(slug);
  const file = join(folder, way);
  writeFileSync(file, key, { mode: 0o400 });
  if (process.getuid?.() === 0) chownSync(file, 10001, 10001);
  else chmodSync(file, 0o444);
  const secret = '/run/secrets/location-key';
  const agent = await startAgent({
    image: 'full',
    network: world.network,
    key: way === 'variable' ? key : null,
    env: { LOG_LEVEL: 'DEBUG', ...(way === 'file' ? { API_KEY_FILE: secret } : {}) },
    mounts: way === 'file' ? { [secret]: file } : {},
  });
  try {
    const result = await runCheck('multistep', slug, { script: spy });
    expect(result.status, told(result)).toBe('passed');
    expect(await agent.logs()).not.toContain(key);
    // Docker keeps variables for everybody who may ask the engine: that is what the file is for.
    const isTold = (await docker('inspect', agent.id)).includes(key);
    expect(isTold).toBe(way === 'variable');
  } finally {
    await agent.remove();
  }
});
