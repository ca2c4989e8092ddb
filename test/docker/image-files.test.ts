import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { uptimeTypes } from '../../src/protocol/check-types.ts';
import { peerKey, startProtocolPeer } from '../agent/link/protocol-peer.ts';
import { killAll, startProgram, until } from '../e2e/program.ts';
import { builtProgram } from '../helpers/build.ts';

/** What the images are made with, without images: those are tried by `npm run test:images`. */

const root = resolve(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'image-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Never rejects: the exit code and what was written. */
function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return new Promise<{ code: number; output: string }>((done) => {
    execFile(file, args, { env: { ...process.env, ...env }, timeout: 30_000 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      done({ code, output: `${stdout}${stderr}` });
    });
  });
}

describe('docker/uptime-tree.mjs', () => {
  const app = join(folder, 'uptime');
  beforeAll(async () => {
    await builtProgram();
    const made = await run(process.execPath, [join(root, 'docker', 'uptime-tree.mjs'), root, app]);
    expect(made).toMatchObject({ code: 0 });
    cpSync(join(root, 'package.json'), join(app, 'package.json'));
    if (existsSync(join(root, 'build', 'native'))) symlinkSync(join(root, 'build'), join(app, 'build'));
  }, 180_000);
  afterEach(killAll);

  it('takes neither the service nor code for scripts', () => {
    const parts = readdirSync(join(app, 'dist'));
    expect(parts).not.toContain('service');
    expect(parts).not.toContain('targets');
    expect(readdirSync(join(app, 'dist', 'script'), { recursive: true, encoding: 'utf8' }).sort()).toEqual([
      'process',
      'process/outside-folder.js',
      'process/remove-tree.js',
    ]);
    expect(readdirSync(join(app, 'node_modules'))).not.toContain('fastify');
  });

  it.each([root, app])(
    'builds large tables of secrets in a thread of the compiled program: %s',
    async (place) => {
      const program = `
      import { buildTablesOffThread } from ${JSON.stringify(join(place, 'dist/secrets/scrubber/table-thread.js'))};
      import { scrubberOf } from ${JSON.stringify(join(place, 'dist/secrets/scrubber/scrubber.js'))};
      const secrets = Array.from({ length: 50 }, (_, i) => ({ name: 'V' + i, value: 'walnut-tree-' + i + '-in-bloom' }));
      const scrubber = scrubberOf(await buildTablesOffThread(secrets));
      console.log(scrubber.withheld, scrubber.text('a walnut-tree-49-in-bloom b'));`;
      const ran = await run(process.execPath, ['--input-type=module', '-e', program]);
      expect(ran).toEqual({ code: 0, output: 'null a ********* b\n' });
    },
  );

  it('is an agent of the types without customer code; its other commands name the image that has them', async () => {
    const peer = await startProtocolPeer();
    const main = join(app, 'dist', 'main.js');
    const agent = startProgram(main, ['start'], {
      API_KEY: peerKey,
      SERVICE_URL: peer.url.href,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'data'),
    });
    await until(() => agent.stderr().includes('hello accepted'), 'hello');
    expect(peer.calls.find(({ route }) => route === 'hello')?.body).toMatchObject({
      checkTypes: uptimeTypes,
      runtimes: [],
      lanes: { uptime: 200 },
    });
    agent.kill('SIGTERM');
    expect(await agent.exited).toBe(0);
    expect(await run(process.execPath, [main, 'service'])).toEqual({
      code: 2,
      output: expect.stringContaining('this image does not contain \\"service\\"') as string,
    });
    await peer.close();
  });
});

describe('docker/health-probe.c', () => {
  const probe = join(folder, 'health-probe');
  const compiled = spawnSync('cc', ['-O1', '-o', probe, join(root, 'docker', 'health-probe.c')]).status === 0;
  if (!compiled) process.stderr.write('skipped here: the health probe of images, for want of a C compiler\n');

  it.skipIf(!compiled)('exits with 0 only for status 200', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(request.url === '/bad' ? 503 : 200).end('x'.repeat(10_000));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    expect(await run(probe, [], { AGENT_HEALTH_PORT: port })).toEqual({ code: 0, output: '' });
    expect(await run(probe, [port, '/good'])).toMatchObject({ code: 0 });
    expect(await run(probe, [port, '/bad'])).toEqual({ code: 1, output: 'health-probe: HTTP/1.1 503\n' });
    expect(asked).toEqual(['/-/liveness', '/good', '/bad']);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    expect(await run(probe, [port])).toEqual({ code: 1, output: 'health-probe: nothing listens\n' });
    expect(await run(probe, ['0'])).toEqual({ code: 1, output: 'health-probe: no port number\n' });
  });

  it.skipIf(!compiled)('asks the service if no agent listens, unless a URL is given', async () => {
    const asked: string[] = [];
    let status = 200;
    const service = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(status).end('{}');
    });
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    const SERVICE_PORT = String((service.address() as AddressInfo).port);
    const nobody = { AGENT_HEALTH_PORT: '1', SERVICE_PORT };
    expect(await run(probe, [], nobody)).toEqual({ code: 0, output: '' });
    status = 503;
    expect(await run(probe, [], nobody)).toEqual({ code: 1, output: 'health-probe: nothing listens\n' });
    expect(await run(probe, ['1'], nobody)).toMatchObject({ code: 1 });
    expect(asked).toEqual(['/health', '/health']);
    service.closeAllConnections();
    service.close();
  });
});

// It hands the files to the containers' user.
describe.skipIf(process.getuid?.() !== 0)('docker/make-keys.mjs', () => {
  it('creates each key once, readable only by its owner', async () => {
    const keys = join(folder, 'keys');
    const make = () => run(process.execPath, [join(root, 'docker', 'make-keys.mjs'), keys]);
    const read = (name: string) => readFileSync(join(keys, name), 'utf8').trim();
    expect(await make()).toEqual({ code: 0, output: '' });
    const location = read('agent/location-key');
    expect(location).toMatch(/^pl_[\w-]{32}$/);
    expect(read('service/database-url')).toBe(
      `postgres://monitoring:${read('database/password')}@postgres:5432/monitoring`,
    );
    for (const name of [
      'agent/location-key',
      'database/password',
      'service/api-key',
      'service/encryption-key',
    ]) {
      const { mode, uid } = statSync(join(keys, name));
      expect({ name, mode: mode & 0o777, uid }).toEqual({ name, mode: 0o400, uid: 10_001 });
    }
    rmSync(join(keys, 'service', 'api-key'));
    expect(await make()).toEqual({ code: 0, output: '' });
    expect(read('agent/location-key')).toBe(location);
    expect(read('service/api-key')).toMatch(/^key_/);
  });
});

describe('docker/seccomp.json', () => {
  it('allows user namespaces, and no system call that only administrators need', () => {
    const profile = JSON.parse(readFileSync(join(root, 'docker', 'seccomp.json'), 'utf8')) as {
      defaultAction: string;
      syscalls: { names: string[]; action: string; args?: unknown }[];
    };
    expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
    const open = profile.syscalls.filter(({ args }) => args === undefined).flatMap(({ names }) => names);
    const needed = [
      'clone',
      'clone3',
      'unshare',
      'chroot',
      'seccomp',
      'landlock_restrict_self',
      'openat2',
      'execve',
    ];
    expect(open).toEqual(expect.arrayContaining(needed));
    // pidfd_getfd is open: the supervisor of scripts takes their sockets by it, and the kernel asks for the right to trace.
    const forAdministrators =
      'acct bpf delete_module finit_module init_module io_uring_setup kcmp kexec_load keyctl mount move_mount ' +
      'open_by_handle_at perf_event_open pivot_root process_vm_readv process_vm_writev ptrace quotactl reboot ' +
      'setns settimeofday swapon syslog umount2 userfaultfd';
    expect(open.filter((name) => forAdministrators.split(' ').includes(name))).toEqual([]);
  });
});
