import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRuntimes } from '../agent/script-host.ts';
import type { Environment } from '../config.ts';
import { runtimeIds } from '../protocol/script.ts';
import { lineSplitter } from './readable-log.ts';

/** What npm may need of our environment; keys and secrets stay here. */
const handedOn =
  /^(path|home|lang|lc_.*|tmpdir|xdg_.*|npm_.*|(https?|no|all)_proxy|node_extra_ca_certs|ssl_cert_.*)$/i;

/**
 * Installs the newest runtime beside a running `dev`, where this is a checkout and it is not there yet. Tells one line when that
 * begins and one when it ends. The agent sees by itself that a runtime has come. `installed` resolves with whether it is there;
 * `close` ends an install that goes on.
 */
export function installNewestRuntime(options: { env: Environment; print: (line: string) => void }): {
  installed: Promise<boolean>;
  close: () => Promise<void>;
} {
  const [newest] = runtimeIds;
  const script = join(dirname(packageRuntimes()), 'scripts', 'runtime.mjs');
  if (!existsSync(script))
    return { installed: Promise.resolve(existsSync(packageRuntimes())), close: () => Promise.resolve() };
  const child = spawn(process.execPath, [script, 'install', newest], {
    env: Object.fromEntries(Object.entries(options.env).filter(([name]) => handedOn.test(name))),
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own keeps Ctrl-C from reaching it before us.
    detached: true,
  });
  let closing = false;
  child.stderr.setEncoding('utf8').on(
    'data',
    lineSplitter((line) => {
      if (!closing) options.print(line);
    }),
  );
  const installed = new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      options.print(`runtime ${newest} can not be installed: ${error.message}`);
      resolve(false);
    });
    child.once('close', (code) => {
      if (code !== 0 && !closing)
        options.print(
          `checks with scripts do not run; try again: node scripts/runtime.mjs install ${newest}`,
        );
      resolve(code === 0);
    });
  });
  return {
    installed,
    close: async () => {
      closing = true;
      child.kill('SIGTERM');
      await installed;
    },
  };
}
