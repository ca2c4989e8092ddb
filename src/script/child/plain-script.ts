import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Runs a script that uses Playwright as a library, without tests, as the body of one test. */

/** Milliseconds between two looks at what the script still does, and how often it must be nothing. */
const lookEveryMs = 25;
const quietLooks = 4;

class ScriptExit extends Error {}

/**
 * Resolves when the script's module has run, the promise that it exports (if any) is settled, and nothing that it started is
 * under way; rejects with what it throws. `require` is the one of the test file, which compiles what it loads.
 */
export async function runPlainScript(options: {
  require: NodeJS.Require;
  folder: string;
  file: string;
}): Promise<void> {
  const before = activity();
  const exited = watchExit();
  try {
    const path = join(options.folder, options.file);
    const loaded: unknown = /\.m[jt]s$/.test(path) ? import(pathToFileURL(path).href) : options.require(path);
    await Promise.race([exited.asked, finish(loaded, before)]);
  } catch (error: unknown) {
    // `process.exit` throws, so that what stands behind it does not run.
    if (!(error instanceof ScriptExit)) throw error;
  } finally {
    exited.restore();
  }
  if (exited.code() > 0) throw new Error(`The script ended with exit code ${exited.code()}.`);
}

async function finish(loaded: unknown, before: number): Promise<void> {
  // Of a module: `module.exports = promise`, or what an async wrapper around top-level await gives.
  await loaded;
  // Scripts without top-level await start something and do not say when it is over.
  for (let quiet = 0; quiet < quietLooks;) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    quiet = activity() <= before ? quiet + 1 : 0;
  }
}

/** How many things keep this process alive: sockets, child processes, timers. */
function activity(): number {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Immediate' && name !== 'TickObject')
    .length;
}

/** The worker process is Playwright's: a script that ends "its" process ends its test. */
function watchExit(): { asked: Promise<void>; code: () => number; restore: () => void } {
  const original = process.exit;
  let code = 0;
  let told: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (told = resolve));
  const exit = (given?: string | number | null): never => {
    code = Number(given ?? process.exitCode ?? 0) || 0;
    told();
    throw new ScriptExit('process.exit');
  };
  process.exit = exit as typeof process.exit;
  return { asked, code: () => code, restore: () => (process.exit = original) };
}
