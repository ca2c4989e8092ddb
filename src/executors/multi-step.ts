import type { Executor } from './interface/executor.ts';
import { runCheckScript } from './check-script.ts';

/** One run of a multi-step check's script. */
export const executeMultiStep: Executor<'MULTI_STEP'> = (job, context) => runCheckScript(job, context);
