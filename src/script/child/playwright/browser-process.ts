/**
 * Replaces `spawn` of Node's child_process in this process: Playwright gives no other access to the signal that killed
 * a browser. Playwright 1.58.2 calls it as a property of the module
 * (playwright-core/lib/server/utils/processLauncher.js). test/library-internals/playwright.test.ts fails if a runtime
 * calls it differently.
 */
import childProcess, { type ChildProcess } from 'node:child_process';
import type { SendToHost } from './tell.ts';

/** Reports the signal that killed a browser: a file that grew too large is the script's fault, a crash is not. */
export function watchBrowserProcess(send: SendToHost): void {
  const spawn = childProcess.spawn;
  const watched = (command: string, args: readonly string[], options: object): ChildProcess => {
    const child = spawn(command, args, options);
    if (Array.isArray(args) && args.includes('--remote-debugging-pipe')) {
      child.once('exit', (_code, signal) => {
        if (signal !== null) send({ type: 'browser', state: 'signal', signal });
      });
    }
    return child;
  };
  childProcess.spawn = watched as typeof spawn;
}
