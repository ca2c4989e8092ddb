import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';

/**
 * The Debian package on a Debian 12 whose first process is systemd, in a container: installed with apt, its units started, rated and
 * removed. Needs a container engine whose containers may have all rights; what is missing is printed.
 */

const root = resolve(import.meta.dirname, '../..');
const image = 'location-agent-systemd';
const name = `location-agent-systemd-${process.pid}`;

function command(program: string, args: readonly string[], input = '') {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    input,
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout: stdout ?? '', output: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}` };
}

/** Why this machine cannot run the tests; null = it can. */
function obstacle(): string | null {
  if (command('dpkg-deb', ['--version']).status !== 0) return 'dpkg-deb is not installed';
  const npm = join(process.execPath, '../../lib/node_modules/npm');
  if (!existsSync(npm) || command('ldd', [process.execPath]).stdout.includes('libnode'))
    return 'this Node is not one that the package can carry';
  return command('docker', ['version']).status === 0 ? null : 'no container engine answers';
}
const missing = obstacle();
if (missing !== null) process.stderr.write(`skipped here: the units under systemd, because ${missing}\n`);

/** Runs a line of shell in the container. */
const inside = (line: string) => command('docker', ['exec', name, 'sh', '-c', line]);
/** The output of a line that must succeed. */
function done(line: string): string {
  const { status, stdout, output } = inside(line);
  if (status !== 0) throw new Error(`${line}: ${output}`);
  return stdout.trim();
}
const property = (unit: string, names: string) =>
  Object.fromEntries(
    done(`systemctl show ${unit} --property ${names}`)
      .split('\n')
      .map((line) => line.split(/=(.*)/s, 2)),
  ) as { [name: string]: string };

/** Waits until a line of shell succeeds. */
async function until(line: string, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const { status, output } = inside(line);
    if (status === 0) return;
    if (performance.now() > end) throw new Error(`${line}: ${output}`);
    await new Promise((next) => setTimeout(next, 500));
  }
}

const locationKey = `pl_${'0123456789abcdef'.repeat(2)}`;
const units = ['location-service', 'location-agent'];
let folder: string;
beforeAll(async () => {
  if (missing !== null) return;
  folder = mkdtempSync(join(tmpdir(), 'systemd-'));
  await builtProgram();
  const built = command(process.execPath, ['scripts/deb.mjs', '--fast', '--out', folder]);
  if (built.status !== 0) throw new Error(built.output);
  const made = command(
    'docker',
    ['build', '--tag', image, '-'],
    `FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends systemd systemd-sysv dbus curl ca-certificates libstdc++6 libatomic1
CMD ["/lib/systemd/systemd"]
`,
  );
  if (made.status !== 0) throw new Error(made.output);
  const place = existsSync('/sys/fs/cgroup/cgroup.controllers')
    ? ['--cgroupns=private']
    : ['--cgroupns=host', '--volume=/sys/fs/cgroup:/sys/fs/cgroup:rw'];
  const temporary = ['/run', '/run/lock', '/tmp'].map((path) => `--tmpfs=${path}:exec`);
  const open = ['seccomp', 'apparmor', 'systempaths'].map((layer) => `--security-opt=${layer}=unconfined`);
  // Engines in containers do not have the right that is dropped, and the units do not need it.
  const rights = ['--cap-add=ALL', '--cap-drop=SYS_RESOURCE', ...open];
  const options = ['--detach', `--name=${name}`, ...rights, ...place, ...temporary];
  const started = command('docker', ['run', ...options, image]);
  if (started.status !== 0) throw new Error(started.output);
  await until('systemctl is-system-running --wait | grep -E "running|degraded"', 120);
  // As docs/debian.md advises for containers.
  done('mount --make-rshared /');
  const file = built.stdout.trim();
  const copied = command('docker', ['cp', file, `${name}:/var/tmp/package.deb`]);
  if (copied.status !== 0) throw new Error(copied.output);
  done('DEBIAN_FRONTEND=noninteractive apt-get install --yes /var/tmp/package.deb');
}, 600_000);
afterAll(() => {
  if (missing !== null) return;
  command('docker', ['rm', '--force', '--volumes', name]);
  command('docker', ['image', 'rm', image]);
  rmSync(folder, { recursive: true, force: true });
});

test.skipIf(missing !== null)('apt installs it, and starts nothing without a key', () => {
  expect(done('location-agent --version')).toMatch(/^\d+\.\d+\.\d+/);
  expect(inside('systemctl start location-agent').status).toBe(0);
  expect(property('location-agent', 'ActiveState,ConditionResult')).toEqual({
    ActiveState: 'inactive',
    ConditionResult: 'no',
  });
});

test.skipIf(missing !== null)(
  'both units become active when they report that they are ready, with their credentials',
  async () => {
    done(`printf '${locationKey}\\n' > /etc/location-service/credentials/SERVICE_LOCATION_KEY`);
    done(
      `printf '${locationKey}\\n' > /etc/location-agent/api-key && chmod 0600 /etc/location-agent/api-key`,
    );
    done('echo SERVICE_URL=http://127.0.0.1:4400 >> /etc/default/location-agent');
    // Returns when each unit has sent READY=1, because they are of the type `notify`.
    for (const unit of units) done(`systemctl enable --now ${unit}`);
    for (const unit of units) {
      const state = property(unit, 'Type,ActiveState,SubState,NRestarts,WatchdogTimestampMonotonic');
      expect(state).toMatchObject({
        Type: 'notify',
        ActiveState: 'active',
        SubState: 'running',
        NRestarts: '0',
      });
      // The last sign of life that systemd received.
      expect(Number(state['WatchdogTimestampMonotonic'])).toBeGreaterThan(0);
    }
    await until('curl -sSf http://127.0.0.1:4400/health', 30);
    await until('curl -sSf http://127.0.0.1:8081/-/readiness', 60);
  },
  300_000,
);

test.skipIf(missing !== null).each(units)('systemd rates the exposure of %s at most 3.0', (unit) => {
  const printed = done(`systemd-analyze security ${unit} --no-pager`);
  const [, level = ''] = /Overall exposure level for \S+: ([\d.]+)/.exec(printed) ?? [];
  expect(level).not.toBe('');
  expect(Number(level)).toBeLessThanOrEqual(3);
});

test.skipIf(missing !== null)(
  'a killed agent is started again, and one whose key is refused is not',
  async () => {
    const pid = property('location-agent', 'MainPID')['MainPID'];
    done('systemctl kill --kill-who=main --signal=KILL location-agent');
    await until(
      `test "$(systemctl show location-agent --property MainPID --value)" -gt 0 -a "$(systemctl show location-agent --property MainPID --value)" != ${pid}`,
      60,
    );
    await until('systemctl is-active location-agent', 60);
    done(`printf 'pl_${'f'.repeat(32)}\\n' > /etc/location-agent/api-key`);
    inside('systemctl restart location-agent');
    await until('systemctl is-failed location-agent', 60);
    expect(property('location-agent', 'ExecMainStatus,ActiveState')).toEqual({
      ExecMainStatus: '77',
      ActiveState: 'failed',
    });
  },
  300_000,
);

test.skipIf(missing !== null)(
  'a purge stops the units and deletes settings, keys and data',
  () => {
    done('DEBIAN_FRONTEND=noninteractive apt-get purge --yes private-location-agent');
    for (const unit of units) expect(inside(`systemctl is-active ${unit}`).status).not.toBe(0);
    const left = done(
      'ls -d /etc/location-agent /etc/location-service /var/lib/private/location-* 2>/dev/null || true',
    );
    expect(left).toBe('');
  },
  120_000,
);
