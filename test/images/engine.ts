import { execFile } from 'node:child_process';

/** The container engine's command line, for what testcontainers has no words for. */

/** What of this machine's engine belongs to the run of tests: scripts/test-images.mjs removes what bears it. */
export const runLabel = 'location-agent.image-tests';
export const runName = process.env['IMAGE_TESTS_RUN'] ?? 'by-hand';

export type Said = { code: number; stdout: string; stderr: string };

/** Runs a program and returns how it exited, whatever the exit code. 124 = timeout. */
export function run(
  program: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; timeoutMs?: number } = {},
): Promise<Said> {
  const { env, timeoutMs = 60_000 } = options;
  return new Promise((resolve) => {
    const limits = { maxBuffer: 2 ** 26, timeout: timeoutMs, ...(env === undefined ? {} : { env }) };
    execFile(program, args, limits, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.killed === true ? 124 : Number(error.code) || 1;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? '') });
    });
  });
}

/** Standard output of `docker ARGS`. Throws with what it complained of. */
export async function docker(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run('docker', args);
  if (code !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr.trim()}`);
  return stdout.trim();
}

/** Runs one command in a new container, which is removed afterwards. */
export const dockerRun = (...args: string[]): Promise<Said> =>
  run('docker', ['run', '--rm', '--label', `${runLabel}=${runName}`, ...args], { timeoutMs: 120_000 });

/** Standard output and error of a container so far. */
export async function logsOf(container: string): Promise<string> {
  const { stdout, stderr } = await run('docker', ['logs', container]);
  return stdout + stderr;
}

/** The output of `docker inspect` for a container; `path` is a Go template. */
export const inspected = (container: string, path: string): Promise<string> =>
  docker('inspect', '--format', path, container);

export type Process = { pid: string; uid: string; state: string; rssBytes: number; command: string };

/** All processes of a container, as the host sees them. */
export async function processesOf(container: string): Promise<Process[]> {
  const table = await docker('top', container, '-eo', 'pid,uid,stat,rss,args');
  return table
    .split('\n')
    .slice(1)
    .map((line) => {
      const [pid = '', uid = '', state = '', rss = '', ...command] = line.trim().split(/\s+/);
      return { pid, uid, state, rssBytes: Number(rss) * 1024, command: command.join(' ') };
    });
}

/** A network of the run. `internal`: nothing outside can be reached from it. */
export async function makeNetwork(name: string, options: { internal?: boolean } = {}): Promise<string> {
  const whole = `image-tests-${runName}-${name}`;
  const flags = options.internal === true ? ['--internal'] : [];
  await docker('network', 'create', '--label', `${runLabel}=${runName}`, ...flags, whole);
  return whole;
}
