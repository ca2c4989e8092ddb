import { join } from 'node:path';
import { AgentError } from '../../errors.ts';
import { suiteAfterMs } from '../../protocol/check-types.ts';
import { lostSecretReason } from '../process/lost-secret.ts';
import { isFull } from '../process/full-disk.ts';
import { canSandbox } from '../playwright/sandbox.ts';
import { createBrowserStore } from './browsers/store.ts';
import type { Installed } from './install/install.ts';
import { browserFault, type SuiteBrowsers } from './browsers/browsers.ts';
import { agentStops, startDeadline } from './place/deadline.ts';
import { removeLeftTemporary, removePlace } from './place/folders.ts';
import { SuiteFailed, type ProgramEnd } from './place/place.ts';
import { readSuiteReport } from './report/report.ts';
import { cutReason, emptyFacts, exceededReason, runOf } from './result.ts';
import type { SuiteOptions, SuiteRun } from '../interface/suite-run.ts';
import { openRun, withOutput, type Host, type Run, type SuiteRunnerOptions } from './session.ts';
import { bringBrowsers, bringBundle, install, runTests } from './work.ts';

export type SuiteRunner = {
  /** Same as `Scripts.runSuite`. */
  run: (options: SuiteOptions) => Promise<SuiteRun>;
  close: () => Promise<void>;
};

/** Runs Playwright suites. The caller limits how many run at a time (`suiteSlots`); no run waits here. */
export function createSuiteRunner(options: SuiteRunnerOptions): SuiteRunner {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  let sandbox: Promise<boolean> | undefined;
  const host: Host = {
    ...options,
    store: createBrowserStore(join(options.dataFolder, 'suite-browsers')),
    closing: closing.signal,
    sandbox: () =>
      (sandbox ??= canSandbox({ node: process.execPath }, options.dataFolder).then((found) => {
        if (!found.works) options.warn(`Chromium of suites runs without its own sandbox: ${found.why}`);
        return found.works;
      })),
  };
  let cleaned: Promise<void> | undefined;
  return {
    run: (given) => {
      cleaned ??= removeLeftTemporary();
      const run = runSuite(given, host);
      const settled = run.then(
        () => undefined,
        () => undefined,
      );
      running.add(settled);
      void settled.then(() => running.delete(settled));
      return run;
    },
    close: async () => {
      closing.abort(agentStops());
      await Promise.all([...running, cleaned]);
    },
  };
}

/** One run, from the bundle to the report. */
async function runSuite(given: SuiteOptions, host: Host): Promise<SuiteRun> {
  const { suite } = given;
  given.signal.throwIfAborted();
  host.closing.throwIfAborted();
  const facts = emptyFacts(suite.maxMinutes * 60_000);
  const deadline = startDeadline({
    limitMs: facts.limitMs,
    signal: given.signal,
    closing: host.closing,
  });
  let run: Run | null = null;
  let installed: Installed | null = null;
  try {
    run = await openRun({ given, host, deadline, facts });
    const current = run;
    const { stages } = current;
    await stages.run('bundle', () => bringBundle(current));
    const tools = await stages.run('install', () => install(current));
    installed = tools.installed;
    const browsers = await stages.run('browsers', () => bringBrowsers(current, tools));
    const end = await stages.run('test', () => runTests(current, { ...tools, browsers }));
    const result = await stages.run('report', () => report(current, { end, browsers }));
    deadline.throwIfLost();
    if (result.failure === null) await installed.keep();
    return { ...result, files: await withOutput(run, result.files) };
  } catch (error: unknown) {
    deadline.throwIfLost();
    const cut = deadline.cut();
    // Other errors while a run is stopped are consequences of that.
    if (cut === null && !(error instanceof SuiteFailed)) throw error;
    const reason = cut === null && error instanceof SuiteFailed ? error.reason : cutReason(facts, cut);
    const result = runOf(facts, { stages: run?.stages.times ?? [], reason });
    return { ...result, files: run === null ? [] : await withOutput(run, []) };
  } finally {
    deadline.stop();
    await installed?.discard();
    await run?.output.close();
    if (run !== null) await removePlace(run.place);
  }
}

/**
 * Time limit for reading the files of the tests, in milliseconds. For a run that was stopped, no more than its executor
 * has left.
 */
const reportMs = { usual: suiteAfterMs - 60_000, cut: 45_000 };

const fired = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });

/** Reads the files of the tests and builds the outcome. Rejects with AgentError if the failure is our fault. */
async function report(
  run: Run,
  { end, browsers }: { end: ProgramEnd; browsers: SuiteBrowsers },
): Promise<SuiteRun> {
  const { given, place, deadline, log, facts, output, stages } = run;
  const cut = deadline.cut();
  const limitMs = cut === null ? reportMs.usual : reportMs.cut;
  const reading = readSuiteReport({
    place,
    end,
    lastLines: output.lastLines,
    artifactBytes: run.host.artifactBytes?.() ?? Infinity,
  });
  const found = await Promise.race([reading, fired(deadline.after(limitMs))]);
  deadline.throwIfLost();
  if (found === null) {
    given.withhold('the secrets of its tests could not be read in time');
    const message = `the files of the tests could not be read within ${limitMs / 1000} s, in stage report`;
    log('error', message);
    if (cut === null) throw new AgentError('INTERNAL', message);
    return runOf(facts, { stages: stages.times, reason: cutReason(facts, cut) });
  }
  for (const note of found.notes) log('info', note);
  for (const value of found.secrets) given.addSecret('SERVICE_SECRET', value);
  if (found.lostSecret !== null) {
    given.withhold(found.lostSecret);
    return runOf(facts, { stages: stages.times, reason: lostSecretReason(found.lostSecret) });
  }
  if (cut === null && end.exceeded === null && found.failure !== null) {
    const texts = [...found.errors, ...found.tests.flatMap(({ errors }) => errors)];
    const fault = browserFault(texts, browsers);
    if (fault !== null) throw fault;
    if (await isFull(place.root)) throw new AgentError('DISK_FULL', 'the disk was full while the suite ran');
  }
  return runOf(facts, {
    stages: stages.times,
    report: found,
    reason: cut === null ? exceededReason(end) : cutReason(facts, cut),
  });
}
