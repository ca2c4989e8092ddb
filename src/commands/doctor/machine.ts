import { constants } from 'node:fs';
import { access, mkdtemp, open, readFile, rm, stat, statfs } from 'node:fs/promises';
import { availableParallelism, freemem, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { remedyForFolder } from '../../config/folder-remedy.ts';
import { note, ok, problem, type Probe } from './finding.ts';
import { codeOf } from '../../system-errors.ts';

/** Bytes in a megabyte, as disk and memory sizes are usually given. */
const megabyte = 1024 * 1024;
const size = (bytes: number): string =>
  bytes >= 1024 * megabyte
    ? `${(bytes / megabyte / 1024).toFixed(1)} GB`
    : `${Math.floor(bytes / megabyte)} MB`;

/** Probes of this machine: Node, cores, memory, file descriptors, disk. */
export function machineProbes(options: { dataDir: string; uptimeConcurrency: number }): Probe[] {
  return [
    { name: 'node', run: () => Promise.resolve(nodeVersion(process.versions.node)) },
    { name: 'cores', run: () => Promise.resolve(ok(`${availableParallelism()} usable`)) },
    { name: 'memory', run: () => Promise.resolve(memory()) },
    { name: 'file descriptors', run: () => fileDescriptors(options.uptimeConcurrency) },
    { name: 'data directory', run: () => dataDirectory(options.dataDir) },
  ];
}

/** Node 20.19 is the oldest that runs the agent. */
export function nodeVersion(version: string) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 20 || (major === 20 && minor >= 19)
    ? ok(version)
    : problem(`${version} is too old`, 'install Node 20.19 or newer; the images use 24');
}

function memory() {
  // 0, or a number beyond the machine's memory, means that the control group has no limit. Absent before Node 20.12.
  const limit = process.constrainedMemory?.() ?? 0;
  const limited = limit > 0 && limit < totalmem();
  const total = limited ? limit : totalmem();
  const free = limited ? Math.max(0, limit - process.memoryUsage().rss) : freemem();
  const message = `${size(total)}${limited ? ' (control group limit)' : ''}, ${size(free)} free`;
  return total < 160 * megabyte
    ? problem(message, 'give the agent at least 256 MB; and 1.5 GB for each concurrent browser check')
    : ok(message);
}

async function fileDescriptors(uptimeConcurrency: number) {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const match = /^Max open files\s+(\d+|unlimited)/m.exec(limits);
  if (match === null) return note('the limit cannot be read on this system');
  // Each attempt may hold a connection and a DNS query; the rest are files, the service and the health port.
  const needed = uptimeConcurrency * 2 + 200;
  const limit = match[1] === 'unlimited' ? Infinity : Number(match[1]);
  return limit < needed
    ? problem(
        `${limit}, but ${needed} may be needed at once`,
        `ulimit -n ${needed}, or a smaller UPTIME_CONCURRENCY`,
      )
    : ok(String(limit));
}

async function dataDirectory(dataDir: string) {
  const existing = await nearestExisting(dataDir);
  try {
    await access(existing, constants.W_OK | constants.X_OK);
    if (existing === dataDir) await writeOnce(dataDir);
  } catch (error: unknown) {
    const code = codeOf(error);
    return problem(`${dataDir} is not writable (${code})`, remedyForFolder(code, dataDir));
  }
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  const message = `${dataDir}, ${size(free)} free${existing === dataDir ? '' : ' (created at the first start)'}`;
  if (free < 100 * megabyte)
    return problem(message, 'free some space: results wait there while the service is unreachable');
  return free < 1024 * megabyte ? note(message, 'a long outage of the service may fill it') : ok(message);
}

async function writeOnce(folder: string): Promise<void> {
  const own = await mkdtemp(join(folder, '.doctor-'));
  try {
    const file = await open(join(own, 'probe'), 'w');
    try {
      await file.writeFile('probe');
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function nearestExisting(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  const parent = dirname(path);
  return found !== null || parent === path ? path : nearestExisting(parent);
}
