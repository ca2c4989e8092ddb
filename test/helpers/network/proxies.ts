import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Real proxies from Debian's packages, each on a port of 127.0.0.1 with a folder of its own. */

export type Proxy = {
  port: number;
  /** SIGKILL; resolves when it is gone. */
  kill: () => Promise<void>;
  /** The same one again, on its port. */
  start: () => Promise<void>;
  output: () => string;
};

export const user = 'agent';
export const password = 'a pass:word%1';

const paths = (name: string) => [`/usr/bin/${name}`, `/usr/sbin/${name}`].find(existsSync) ?? null;
const programs = { squid: 'squid', tinyproxy: 'tinyproxy', dante: 'danted', haproxy: 'haproxy' } as const;
export type ProxyKind = keyof typeof programs;

/** Those that this machine lacks, as text for a skipped test; null = all are here. */
export function missingProxies(): string | null {
  const missing = Object.values(programs).filter((name) => paths(name) === null);
  return missing.length === 0
    ? null
    : `not installed: ${missing.join(', ')} (apt-get install squid tinyproxy-bin dante-server haproxy)`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const nobody = 65_534;

/** Starts proxies and stops them all with `close`. */
export function createProxies(): {
  /** `options`: squid's lines, haproxy's frontend and backend lines with PORT for its port. */
  start: (kind: ProxyKind, options?: { auth?: boolean; lines?: readonly string[] }) => Promise<Proxy>;
  folder: string;
  close: () => Promise<void>;
} {
  const folder = mkdtempSync(join(tmpdir(), 'proxies-'));
  chmodSync(folder, 0o755);
  const running = new Set<ChildProcess>();

  async function start(
    kind: ProxyKind,
    { auth = false, lines = [] }: { auth?: boolean; lines?: readonly string[] } = {},
  ): Promise<Proxy> {
    const port = await freePort();
    const own = mkdtempSync(join(folder, `${kind}-`));
    chmodSync(own, 0o777);
    const args = prepare[kind]({ port, own, auth, lines });
    let output = '';
    let child: ChildProcess;
    const begin = async () => {
      child = spawn(paths(programs[kind]) ?? programs[kind], args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: own,
        // Some serve connections in children, which end with their group.
        detached: true,
      });
      running.add(child);
      child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.once('exit', () => running.delete(child));
      await listening(port, () => {
        if (child.exitCode !== null) throw new Error(`${kind} exited with ${child.exitCode}: ${output}`);
      });
    };
    await begin();
    return {
      port,
      start: begin,
      kill: async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        killGroup(child);
        await gone;
      },
      output: () => output,
    };
  }
  return {
    start,
    folder,
    close: async () => {
      await Promise.all(
        [...running].map(async (child) => {
          const gone = once(child, 'exit');
          killGroup(child);
          await gone;
        }),
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
}

async function listening(port: number, check: () => void): Promise<void> {
  for (;;) {
    check();
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

type Setting = { port: number; own: string; auth: boolean; lines: readonly string[] };

/** Writes the configuration. Returns the arguments. */
const prepare: { readonly [kind in ProxyKind]: (setting: Setting) => string[] } = {
  squid: ({ port, own, auth, lines }) => {
    const passwords = join(own, 'passwords');
    const hashed = execFileSync('openssl', ['passwd', '-apr1', password], { encoding: 'utf8' }).trim();
    writeFileSync(passwords, `${user}:${hashed}\n`, { mode: 0o644 });
    const file = join(own, 'squid.conf');
    writeFileSync(
      file,
      [
        `http_port 127.0.0.1:${port}`,
        ...(auth
          ? [
              `auth_param basic program /usr/lib/squid/basic_ncsa_auth ${passwords}`,
              'auth_param basic realm test',
              'acl known proxy_auth REQUIRED',
              'http_access allow known',
              'http_access deny all',
            ]
          : ['http_access allow all']),
        ...lines,
        'cache deny all',
        'access_log none',
        `cache_log ${join(own, 'cache.log')}`,
        `pid_filename ${join(own, 'squid.pid')}`,
        `coredump_dir ${own}`,
        'shutdown_lifetime 0 seconds',
        'max_filedescriptors 1024',
        ...(process.getuid?.() === 0 ? ['cache_effective_user nobody', 'cache_effective_group nogroup'] : []),
        '',
      ].join('\n'),
    );
    if (process.getuid?.() === 0) chownSync(own, nobody, nobody);
    return ['-N', '-n', `t${port}`, '-f', file];
  },
  tinyproxy: ({ port, own, auth, lines }) => {
    const file = join(own, 'tinyproxy.conf');
    const plain = password.replace(/[^A-Za-z0-9]/g, '');
    writeFileSync(
      file,
      [
        `Port ${port}`,
        'Listen 127.0.0.1',
        'Timeout 600',
        ...(auth ? [`BasicAuth ${user} ${plain}`] : []),
        ...lines,
        '',
      ].join('\n'),
    );
    return ['-d', '-c', file];
  },
  dante: ({ port, own, auth }) => {
    const file = join(own, 'danted.conf');
    writeFileSync(
      file,
      [
        'logoutput: stderr',
        `internal: 127.0.0.1 port = ${port}`,
        'external: lo',
        `socksmethod: ${auth ? 'username' : 'none'}`,
        'clientmethod: none',
        ...(process.getuid?.() === 0 ? ['user.privileged: root', 'user.unprivileged: nobody'] : []),
        'client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }',
        'socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }',
        '',
      ].join('\n'),
    );
    return ['-f', file];
  },
  haproxy: ({ port, own, lines }) => {
    const file = join(own, 'haproxy.cfg');
    writeFileSync(
      file,
      `${['defaults', '  mode http', '  timeout connect 5s', '  timeout client 60s', '  timeout server 60s', ...lines].join('\n').replaceAll('PORT', String(port))}\n`,
    );
    return ['-db', '-f', file];
  },
};
