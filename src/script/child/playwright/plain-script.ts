/** Runs a script that uses Playwright as a library, without tests, as the body of one test. */

/** Milliseconds between two checks of what the script still does, and how often in a row that must be nothing. */
const checkEveryMs = 25;
const quietChecks = 4;
/** Milliseconds of checks that prove nothing; after them each one counts, so that a script ends on any machine. */
const maxVainMs = 3000;

class ScriptExit extends Error {}

/**
 * Resolves when the script that `load` loads has run, the promise that it exports (if any) is settled, and nothing that
 * it started is in progress. Rejects with its exception, also if nothing awaits it.
 */
export async function runPlainScript(load: () => unknown): Promise<void> {
  const before = activity();
  const exited = watchExit();
  const thrown = watchThrown();
  try {
    await Promise.race([exited.asked, thrown.first, finish(load, before)]);
  } catch (error: unknown) {
    // `process.exit` throws, so that the code after it does not run.
    if (!(error instanceof ScriptExit)) throw error;
  } finally {
    exited.restore();
    thrown.restore();
  }
  if (exited.code() > 0) throw new Error(`The script ended with exit code ${exited.code()}.`);
}

async function finish(load: () => unknown, before: number): Promise<void> {
  // The promise is that of `import`, or of the async function around top-level await.
  await load();
  // Scripts without top-level await start work and do not signal its end.
  let vainMs = 0;
  for (let quiet = 0; quiet < quietChecks;) {
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, checkEveryMs));
    const took = performance.now() - began;
    if (activity() > before) {
      quiet = 0;
      vainMs = 0;
    } else if ((hasImmediates() || took > 2 * checkEveryMs) && vainMs < maxVainMs) {
      // A process that got no processor time did nothing, although it had work: such a check proves nothing.
      vainMs += took;
    } else quiet += 1;
  }
}

/** The number of handles that keep this process alive: sockets, child processes, timers. */
function activity(): number {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Immediate' && name !== 'TickObject')
    .length;
}

/** Whether work is waiting for the next turn of the event loop, as each message within Playwright does. */
const hasImmediates = (): boolean => process.getActiveResourcesInfo().includes('Immediate');

/** The worker process belongs to Playwright: a script that exits "its" process ends its test. */
function watchExit(): { asked: Promise<void>; code: () => number; restore: () => void } {
  const original = process.exit;
  let code = 0;
  let markAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (markAsked = resolve));
  const exit = (given?: string | number | null): never => {
    code = Number(given ?? process.exitCode ?? 0) || 0;
    markAsked();
    throw new ScriptExit('process.exit');
  };
  process.exit = exit as typeof process.exit;
  return { asked, code: () => code, restore: () => (process.exit = original) };
}

/** An uncaught error ends the script, as it would in a process of its own. */
function watchThrown(): { first: Promise<never>; restore: () => void } {
  const events = ['unhandledRejection', 'uncaughtException'];
  // Playwright's own listeners would stop the tests' process.
  const theirs = events.map((event) => process.listeners(event as 'uncaughtException'));
  let reject: (error: unknown) => void = () => undefined;
  const first = new Promise<never>((_, fail) => (reject = fail));
  first.catch(() => undefined);
  const take = (error: unknown) => {
    if (!(error instanceof ScriptExit)) reject(error);
  };
  for (const event of events) process.removeAllListeners(event).on(event, take);
  return {
    first,
    restore: () => {
      for (const [index, event] of events.entries()) {
        process.off(event, take);
        for (const listener of theirs[index] ?? []) process.on(event, listener);
      }
    },
  };
}
