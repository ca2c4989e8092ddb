import type { ExecutionContext } from '../../executors/interface/executor.ts';
import type { ProbeRun } from './run.ts';

/** What requests of probes need; the other parts of a context are not used by them. */
export function contextOf({ signal, log, network, now }: ProbeRun): ExecutionContext {
  return {
    signal,
    network,
    now,
    log: (_level, message) => log(message),
    scripts: null,
    workDir: () => Promise.reject(new Error('a probe has no folder')),
    artifacts: { add: () => undefined },
    addSecret: () => undefined,
    withhold: () => undefined,
  };
}
