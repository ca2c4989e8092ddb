import type { Executor } from './interface/executor.ts';
import { runCheckScript } from './check-script.ts';

/** One run of a browser check's script. */
export const executeBrowser: Executor<'BROWSER'> = (job, context) => runCheckScript(job, context);
