import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { toError } from '../../errors.ts';
import { findBrowsers, playwrightCaches } from '../../script/playwright/browsers.ts';
import { canSandbox } from '../../script/playwright/sandbox.ts';
import { findRuntimes, type Runtime } from '../../script/process/runtimes.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

/** Probes per runtime: which Chromium its scripts get, whether it runs here, and whether videos can be recorded. */
export function browserProbes(runtimesFolder: string, playwrightBrowsersPath: string | null): Probe[] {
  return findRuntimes(runtimesFolder).flatMap(({ name, state }) =>
    state.is === 'installed'
      ? [
          {
            name: `browser ${name}`,
            run: (signal) => verdict(state.runtime, playwrightBrowsersPath, signal),
          },
        ]
      : [],
  );
}

async function verdict(
  runtime: Runtime,
  first: string | null,
  signal: AbortSignal,
): Promise<Omit<Finding, 'name'>> {
  let browsers: Awaited<ReturnType<typeof findBrowsers>>;
  try {
    browsers = await findBrowsers({ runtimeFolder: runtime.folder, installed: playwrightCaches(first) });
  } catch (error: unknown) {
    return problem(
      toError(error).message,
      'as root: apt-get install chromium ffmpeg, or the packages of your distribution',
    );
  }
  const { chromium, ffmpeg, ownBuild } = browsers;
  let version: string;
  try {
    // Without the agent's variables, because a browser does not need them.
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nonexistent' };
    const { stdout } = await promisify(execFile)(chromium, ['--version', '--no-sandbox'], { signal, env });
    version = stdout.trim().split('\n', 1)[0] ?? '';
  } catch (error: unknown) {
    const [cause = ''] = toError(error).message.split('\n', 1);
    return problem(`${chromium} does not run here: ${cause}`, 'install it again with its dependencies');
  }
  const message = `${version.slice(0, 100)}, ${ownBuild ? "Playwright's own build" : chromium}`;
  if (ffmpeg === null) return note(`${message}; no videos`, 'install the package ffmpeg');
  const isWritable = await access(tmpdir(), constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable)
    return note(
      `${message}; ${tmpdir()} is not writable; programs that scripts start keep files there`,
      'make it writable; in a container with --read-only: --tmpfs /tmp',
    );
  const sandbox = await canSandbox(runtime, tmpdir());
  if (sandbox.works) return ok(`${message}, in its own sandbox`);
  const remedy =
    process.getuid?.() === 0
      ? 'start the agent as an ordinary user'
      : 'allow user namespaces for the agent; for a container, see docs/docker.md';
  return note(
    `${message}; without its own sandbox: ${sandbox.why}`,
    `${remedy} to enable Chromium's sandbox`,
  );
}
