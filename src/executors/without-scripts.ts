import { AgentError } from '../errors.ts';
import type { ExecutionContext } from './interface/executor.ts';

/** What probes leave alone of their context: no customer code runs, no file is made. */
export const withoutScripts: Pick<ExecutionContext, 'scripts' | 'workDir' | 'artifacts' | 'addSecret'> = {
  scripts: null,
  workDir: () => Promise.reject(new AgentError('INTERNAL', 'this attempt has no folder')),
  artifacts: { add: () => undefined },
  addSecret: () => undefined,
};
