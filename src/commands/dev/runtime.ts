import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { packageRuntimes } from '../../agent/script-host.ts';
import type { Environment } from '../../config/read.ts';
import { runtimeIds } from '../../protocol/script.ts';
import { installCommand } from '../../script/suite/install/install-command.ts';
import { lineSplitter } from '../line-splitter.ts';

/** The environment variables that npm may need. Keys and secrets are not passed on. */
const handedOn =
  /^(path|home|lang|lc_.*|tmpdir|xdg_.*|npm_.*|(https?|no|all)_proxy|node_extra_ca_certs|ssl_cert_.*)$/i;

/**
 * While `dev` runs, installs the newest runtime, then the engines of suites, if this is a checkout and they are
 * missing. Prints a line when each install starts and finishes. The agent detects them by itself. `installed` resolves
 * with whether the runtime is available, `engines` with whether suites can run; `close` kills a running install.
 */
export function installNewestRuntime(options: { env: Environment; print: (line: string) => void }): {
  installed: Promise<boolean>;
  engines: Promise<boolean>;
  close: () => Promise<void>;
} {
  const [newest] = runtimeIds;
  const closing = new AbortController();
  const scripts = join(dirname(packageRuntimes()), 'scripts');
  const install = (file: string, args: readonly string[], without: string) =>
    existsSync(join(scripts, file))
      ? runInstaller({ ...options, file: join(scripts, file), args, without, signal: closing.signal })
      : Promise.resolve(existsSync(packageRuntimes()));
  const installed = install('runtime.mjs', ['install', newest], 'checks with scripts do not run');
  // One after the other, because each install uses all cores of a small machine.
  const engines = installed.then(
    () => closing.signal.aborted || install('engines.mjs', ['install'], 'Playwright suites do not run'),
  );
  return {
    installed,
    engines,
    close: async () => {
      closing.abort();
      await engines;
    },
  };
}

/** Resolves with whether the installer succeeded; if not, prints what the user can do. */
function runInstaller(options: {
  env: Environment;
  print: (line: string) => void;
  file: string;
  args: readonly string[];
  without: string;
  signal: AbortSignal;
}): Promise<boolean> {
  const { file, args, signal } = options;
  const child = spawn(process.execPath, [file, ...args], {
    env: Object.fromEntries(Object.entries(options.env).filter(([name]) => handedOn.test(name))),
    stdio: ['ignore', 'ignore', 'pipe'],
    // Its own process group keeps Ctrl-C from reaching it before us.
    detached: true,
  });
  const print = (line: string) => {
    if (!signal.aborted) options.print(line);
  };
  const again = [installCommand(basename(file)), ...args].join(' ');
  child.stderr.setEncoding('utf8').on('data', lineSplitter(print));
  signal.addEventListener('abort', () => child.kill('SIGTERM'));
  return new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      print(`${again} cannot be started: ${error.message}`);
      resolve(false);
    });
    child.once('close', (code) => {
      if (code !== 0) print(`${options.without}; try again: ${again}`);
      resolve(code === 0);
    });
  });
}
