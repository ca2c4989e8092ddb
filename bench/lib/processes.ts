import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The machine that produced the figures. */
export const machine = `${cpus()[0]?.model ?? 'unknown'} x${cpus().length}, Node ${process.version}`;

/** Prints the JSON line with which every benchmark finishes. */
export function report(figures: {
  name: string;
  unit: string;
  ours: number | null;
  peer: number | null;
  limit: number | null;
  ratio: number | null;
  /** Whatever else was measured. */
  figures?: object;
}): void {
  console.log(JSON.stringify({ ...figures, machine }));
}

/** User and system CPU time of a process so far, in milliseconds (proc(5), fields 14 and 15; a tick is 10 ms). */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** CPU time of a process and its children, including exited ones. */
export function treeCpuMs(pid: number): number {
  const ticks = new Map<number, { parent: number; ms: number }>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const own = Number(fields[11]) + Number(fields[12]);
      const ended = Number(fields[13]) + Number(fields[14]);
      ticks.set(Number(name), { parent: Number(fields[1]), ms: (own + ended) * 10 });
    } catch {
      // The process has exited.
    }
  }
  let sum = 0;
  for (const [id, { parent, ms }] of ticks) if (id === pid || parent === pid) sum += ms;
  return sum;
}

/** Resident memory of a process in MB. */
export function rssMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'location-agent-bench-'));
}

/** Starts a compiled benchmark file as a child process, and reads the first line of its output as JSON. */
export function startChild<T>(
  file: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: ChildProcess; hello: T }> {
  return startProgram(process.execPath, [file, ...args], env);
}

/** Starts a program as a child process, and reads the first line of its output as JSON. */
export async function startProgram<T>(
  file: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: ChildProcess; hello: T }> {
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]; // readline's event
  return { child, hello: JSON.parse(line) as T };
}

export async function stopChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  child.kill(signal);
  await closed;
}

/** Creates a certificate authority and a certificate for localhost and 127.0.0.1, as PEM files in `folder`. */
export function makeCertificates(folder: string): { ca: string; cert: string; key: string } {
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
    '-days',
    '30',
    '-subj',
    '/CN=bench CA',
  );
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const signedBy = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-addext', 'basicConstraints=CA:FALSE'];
  const files = ['-keyout', path('key.pem'), '-out', path('cert.pem'), '-days', '30'];
  openssl('req', '-x509', ...key, ...files, ...subject, ...signedBy);
  return { ca: path('ca.pem'), cert: path('cert.pem'), key: path('key.pem') };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
