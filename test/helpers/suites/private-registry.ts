import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { createAuthority } from '../../../src/targets/certificates.ts';

/** A company's private package registry: HTTPS by its own authority, one package, and a token to get it. */

/** What its one package is called; `require` of it says `widget 1.2.3`. */
export const privatePackage = { name: '@acme/widget', version: '1.2.3' } as const;

/**
 * How it answers those who show the token: `hangs` takes requests and stays silent, `trickles` sends a byte a second, `breaks` is
 * broken.
 */
export type RegistryMood = 'answers' | 'hangs' | 'trickles' | 'breaks';

export type PrivateRegistry = {
  /** With a slash at its end. */
  url: string;
  /** Host and port, as `.npmrc` writes them. */
  host: string;
  /** PEM of the authority. */
  authority: string;
  integrity: string;
  /** Method, path and status of each request. */
  asked: string[];
  /** Of `Authorization`, those that came. */
  shown: Set<string>;
  mood: RegistryMood;
  close: () => Promise<void>;
};

export async function startPrivateRegistry(token: string): Promise<PrivateRegistry> {
  const day = 86_400_000;
  const authority = await createAuthority({ commonName: 'packages of acme' });
  const { cert, key } = await authority.issue({
    commonName: 'packages',
    names: ['127.0.0.1', 'localhost'],
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
  });
  const tarball = await packageOf({ ...privatePackage, main: 'index.js' });
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const server: Server = createServer({ cert, key });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
  const url = `https://${host}/`;
  const timers = new Set<NodeJS.Timeout>();

  const registry: PrivateRegistry = {
    url,
    host,
    authority: authority.certificate.cert,
    integrity,
    asked: [],
    shown: new Set(),
    mood: 'answers',
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const packument = JSON.stringify({
    name: privatePackage.name,
    'dist-tags': { latest: privatePackage.version },
    versions: {
      [privatePackage.version]: {
        ...privatePackage,
        dist: {
          tarball: `${url}@acme/widget/-/widget-${privatePackage.version}.tgz`,
          integrity,
          shasum: createHash('sha1').update(tarball).digest('hex'),
        },
      },
    },
    time: { [privatePackage.version]: '2020-01-01T00:00:00.000Z' },
  });

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = decodeURIComponent(new URL(request.url ?? '/', url).pathname);
    const end = (status: number, type: string, body: string | Buffer): void => {
      registry.asked.push(`${request.method} ${path} ${status}`);
      response.writeHead(status, { 'content-type': type });
      if (registry.mood !== 'trickles' || status !== 200) return void response.end(body);
      let sent = 0;
      const bytes = Buffer.from(body);
      response.write(bytes.subarray(0, 1));
      const timer = setInterval(() => response.write(bytes.subarray((sent += 1), sent + 1)), 1000);
      timers.add(timer);
    };
    const given = request.headers.authorization;
    if (given !== undefined) registry.shown.add(given);
    if (given !== `Bearer ${token}`) return end(401, 'application/json', '{"error":"who are you?"}');
    if (registry.mood === 'hangs') return void registry.asked.push(`${request.method} ${path} hangs`);
    if (registry.mood === 'breaks') return end(500, 'text/plain', 'broken');
    if (path === `/${privatePackage.name}`) return end(200, 'application/json', packument);
    if (path.endsWith('.tgz')) return end(200, 'application/octet-stream', tarball);
    return end(404, 'application/json', '{"error":"no such package"}');
  };
  server.on('request', (request, response) => {
    response.on('error', () => undefined);
    // What a manager sends along (an audit, say) is of no interest.
    void text(request).then(
      () => answer(request, response),
      () => undefined,
    );
  });
  return registry;
}

/** The same bytes of content each time: managers write their checksums into lock files. */
async function packageOf(manifest: { name: string; version: string; main: string }): Promise<Buffer> {
  const archive = pack();
  const mtime = new Date('1985-10-26T08:15:00.000Z');
  const files = {
    'package.json': JSON.stringify(manifest),
    'index.js': `module.exports = 'widget ${manifest.version}';\n`,
  };
  for (const [name, content] of Object.entries(files))
    archive.entry({ name: `package/${name}`, mtime, mode: 0o644 }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer); // a byte stream
  return gzipSync(Buffer.concat(chunks));
}

/** A project that needs the package, per package manager: its files, and how it is made to use the registry. */
export function privateProject(
  manager: 'npm' | 'pnpm' | 'yarn-classic' | 'yarn-modules' | 'yarn-pnp' | 'bun',
  { url, host, integrity }: Pick<PrivateRegistry, 'url' | 'host' | 'integrity'>,
): { [path: string]: string } {
  const { name, version } = privatePackage;
  const dependencies = { [name]: version };
  const manifest = { name: 'shop', version: '1.0.0', private: true, dependencies };
  const common = {
    'package.json': JSON.stringify(manifest),
    '.npmrc': `registry=${url}\n//${host}/:_authToken=\${NPM_TOKEN}\n`,
  };
  const resolved = `${url}${name}/-/widget-${version}.tgz`;
  switch (manager) {
    case 'npm':
      return {
        ...common,
        'package-lock.json': JSON.stringify({
          name: 'shop',
          version: '1.0.0',
          lockfileVersion: 3,
          requires: true,
          packages: {
            '': { name: 'shop', version: '1.0.0', dependencies },
            [`node_modules/${name}`]: { version, resolved, integrity },
          },
        }),
      };
    case 'pnpm':
      return {
        ...common,
        'pnpm-lock.yaml': `lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      '${name}':
        specifier: ${version}
        version: ${version}

packages:

  '${name}@${version}':
    resolution: {integrity: ${integrity}}

snapshots:

  '${name}@${version}': {}
`,
      };
    case 'yarn-classic':
      return {
        ...common,
        'yarn.lock': `# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


"${name}@${version}":
  version "${version}"
  resolved "${resolved}"
  integrity ${integrity}
`,
      };
    case 'yarn-modules':
    case 'yarn-pnp':
      return {
        'package.json': common['package.json'],
        '.yarnrc.yml': `${manager === 'yarn-modules' ? 'nodeLinker: node-modules\n' : ''}npmRegistryServer: "${url}"
npmAuthToken: "\${NPM_TOKEN}"
npmAlwaysAuth: true
`,
        'yarn.lock': `# This file is generated by running "yarn install" inside your project.
# Manual changes might be lost - proceed with caution!

__metadata:
  version: 10
  cacheKey: 10c0

"${name}@npm:${version}":
  version: ${version}
  resolution: "${name}@npm:${version}"
  checksum: ${yarnChecksum}
  languageName: node
  linkType: hard

"shop@workspace:.":
  version: 0.0.0-use.local
  resolution: "shop@workspace:."
  dependencies:
    "${name}": "npm:${version}"
  languageName: unknown
  linkType: soft
`,
      };
    case 'bun':
      return {
        ...common,
        'bun.lock': JSON.stringify({
          lockfileVersion: 1,
          configVersion: 1,
          workspaces: { '': { name: 'shop', dependencies } },
          packages: { [name]: [`${name}@${version}`, resolved, {}, integrity] },
        }),
      };
  }
}

/** Of what `packageOf` packs, in Yarn's own archive. */
const yarnChecksum =
  '10c0/64455e906f7df9bc09b59b47b8ee0768087ad9738122d339899f4ef87c2a760dfa9f91b951cbccb05c713fa2e252c51e7ce99dd3faa4223a7624e7cc069aae28';
