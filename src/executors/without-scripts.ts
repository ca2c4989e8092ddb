import { AgentError } from '../errors.ts';
import type { ExecutionContext } from './interface/executor.ts';

/** The script parts of a probe's context, which it does not use: no customer code runs, no file is created. */
export const withoutScripts: Pick<
  ExecutionContext,
  'scripts' | 'workDir' | 'artifacts' | 'addSecret' | 'withhold'
> = {
  scripts: null,
  workDir: () => Promise.reject(new AgentError('INTERNAL', 'this attempt has no folder')),
  artifacts: { add: () => undefined },
  addSecret: () => undefined,
  withhold: () => undefined,
};
