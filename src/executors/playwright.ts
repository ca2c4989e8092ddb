import { AgentError } from '../errors.ts';
import { reasonOf } from '../protocol/reasons.ts';
import type { Scripts } from '../script/interface/scripts.ts';
import { refusedVariables, scriptEnvironment } from '../script/process/script-environment.ts';
import type { Executor, Outcome } from './interface/executor.ts';

/** One run of a Playwright suite. */
export const executePlaywright: Executor<'PLAYWRIGHT'> = async (job, context) => {
  const { scripts } = context;
  if (scripts === null) throw new AgentError('INTERNAL', 'this agent has no script code');
  const workDir = await context.workDir();
  const refused = refusedVariables(job);
  if (refused.length > 0) {
    context.log('warn', `these variables are not passed to suites: ${refused.slice(0, 20).join(', ')}`);
  }
  const run = await scripts.runSuite({
    suite: job.suite,
    workDir,
    env: scriptEnvironment(job),
    signal: context.signal,
    log: context.log,
    onStage: context.onStage ?? (() => undefined),
    addSecret: context.addSecret,
    withhold: context.withhold,
  });
  for (const file of run.files) context.artifacts.add(file);
  return {
    base: baseOf(run),
    responseTime: run.durationMs,
    timings: null,
    assertions: [],
    details: { ...run.details },
  };
};

function baseOf({ failure, degraded }: Awaited<ReturnType<Scripts['runSuite']>>): Outcome['base'] {
  if (failure !== null) return { ok: false, reason: failure };
  return degraded === null
    ? { ok: true }
    : { ok: true, degraded: reasonOf('MARKED_DEGRADED', degraded.message) };
}
