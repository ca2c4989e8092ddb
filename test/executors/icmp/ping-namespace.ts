import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Order } from './ping-child.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const addon = join(root, 'build', 'native', 'location_agent.node');
const helper = join(root, 'build', 'native', 'raw-socket');

/** Root of a machine that lets it make network namespaces, with the addon built. */
export const canUseNamespaces =
  existsSync(addon) && spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

export const hasRawSocketPackage = ((): boolean => {
  try {
    createRequire(import.meta.url)('raw-socket');
    return true;
  } catch {
    return false;
  }
})();

/** The helper is built, and its file can be given the capability (Debian: libcap2-bin). */
export const canGrantByFile =
  canUseNamespaces &&
  existsSync(helper) &&
  spawnSync('setcap', ['-h'], { stdio: 'ignore' }).error === undefined;
if (canUseNamespaces && !canGrantByFile) {
  process.stderr.write(
    'skipped here: raw sockets by their helper, for which setcap (libcap2-bin) is missing\n',
  );
}

export type ChildFolder = { withAddon: string; withoutAddon: string; remove: () => void };

const pingChild = join(root, 'test', 'executors', 'icmp', 'ping-child.ts');

/** A program compiled where every user may read it, once with the addon and once without. */
export function compileChild(program = pingChild): ChildFolder {
  const folder = mkdtempSync(join(tmpdir(), 'location-agent-ping-'));
  chmodSync(folder, 0o755);
  const withoutAddon = join(folder, 'without');
  mkdirSync(withoutAddon);
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: root,
      outDir: withoutAddon,
      typeRoots: [join(root, 'node_modules', '@types')],
    },
    include: [join(root, 'src', '**', '*.d.ts')],
    files: [program],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], {
    stdio: 'pipe',
  });
  writeFileSync(join(withoutAddon, 'package.json'), '{"type":"module"}');
  symlinkSync(join(root, 'node_modules'), join(withoutAddon, 'node_modules'));
  const withAddon = join(folder, 'with');
  cpSync(withoutAddon, withAddon, { recursive: true });
  mkdirSync(join(withAddon, 'build', 'native'), { recursive: true });
  cpSync(addon, join(withAddon, 'build', 'native', 'location_agent.node'));
  return { withAddon, withoutAddon, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A copy of such a folder as an image has it: with the helper, whose file has the capability. */
export function grantByFile(folder: string): string {
  const granted = `${folder}-granted`;
  cpSync(folder, granted, { recursive: true });
  const copy = join(granted, 'build', 'native', 'raw-socket');
  cpSync(helper, copy);
  execFileSync('setcap', ['cap_net_raw+ep', copy]);
  return granted;
}

type Run = {
  folder: string;
  /** Shell commands that prepare the namespace, in which `lo` is up. */
  prepare?: string;
  /** Commands of a second namespace, joined to the first by the veth pair `near` (first) and `far`. */
  router?: string;
  /** Which group ids may open ping sockets, by the kernel's own setting. */
  pingGroups?: 'nobody' | 'everybody';
  /** As an ordinary user without any capability; `by file`: programs whose files have some may get them. */
  unprivileged?: boolean | 'by file';
  orders: Order[];
};

/** Carries out orders in a new network namespace, which vanishes with the child. */
export async function inNamespace(run: Run): Promise<unknown[]> {
  const range = run.pingGroups === 'everybody' ? '0 2147483647' : '1 0';
  const lines = ['set -e', 'ip link set lo up', `echo "${range}" > /proc/sys/net/ipv4/ping_group_range`];
  if (run.router !== undefined) {
    lines.push(
      // The second namespace lives as long as its sleep, which ends with this shell.
      'unshare -n sleep 60 & far=$!',
      'trap "kill $far" EXIT',
      'until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done',
      'ip link add near type veth peer name far netns $far',
      `nsenter -t $far -n sh -ec '${run.router}'`,
    );
  }
  if (run.prepare !== undefined) lines.push(run.prepare);
  const never = run.unprivileged === 'by file' ? '' : '--no-new-privs --bounding-set -all';
  const user = run.unprivileged
    ? `setpriv --reuid 65534 --regid 65534 --clear-groups ${never} --inh-caps -all `
    : '';
  lines.push(`${user}"$0" "$1" "$2"`);
  const child = join(run.folder, 'test', 'executors', 'icmp', 'ping-child.js');
  const { stdout } = await promisify(execFile)(
    'unshare',
    ['-n', 'sh', '-c', lines.join('\n'), process.execPath, child, JSON.stringify(run.orders)],
    { timeout: 30_000 },
  );
  return JSON.parse(stdout) as unknown[]; // the child's answers
}
