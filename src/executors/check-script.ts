import { AgentError } from '../errors.ts';
import type { JobOf } from '../protocol/job.ts';
import type { ExecutionContext, Outcome } from './executor.ts';

/** One run of the script of a browser or multi-step check: tests, steps, pages and calls as an outcome. */
export async function runCheckScript(
  job: JobOf<'BROWSER' | 'MULTI_STEP'>,
  context: ExecutionContext,
): Promise<Outcome> {
  if (context.scripts === null) throw new AgentError('INTERNAL', 'this agent carries no script code');
  await Promise.resolve();
  throw new AgentError('INTERNAL', `checks of type ${job.checkType} cannot run yet`);
}
