import { exitCodes, toError } from '../errors.ts';
import type { Log } from '../log.ts';

/** Signals that would end the process without a word, besides those that the program itself waits for. */
const deadlySignals = ['SIGQUIT', 'SIGUSR2', 'SIGALRM', 'SIGVTALRM', 'SIGXCPU', 'SIGABRT'] as const;

/**
 * From now on every end of the process leaves a line in the log: a fault that nobody expected, a signal, an exit that some
 * part has called, an event loop that has nothing to do any more. Only what kills at once (SIGKILL, a crash of Node) leaves
 * none. `who` is what ends, in words. The function that it returns says that the end from here on is as it should be.
 */
export function leaveLastWords(log: Log, who: string): () => void {
  let hasSpoken = false;
  const onFault = (error: unknown) => {
    hasSpoken = true;
    log.fatal({ err: toError(error) }, `unexpected fault: ${who} ends`);
    process.exit(exitCodes.couldNotRun);
  };
  const onIdle = () => {
    hasSpoken = true;
    log.fatal(`nothing keeps ${who} running: it ends`);
    process.exit(exitCodes.couldNotRun);
  };
  const onExit = (code: number) => {
    if (!hasSpoken) log.fatal({ code }, `${who} ends, and nobody has told it to`);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    log.fatal({ signal }, `${who} is ended by a signal`);
    stop();
    process.kill(process.pid, signal);
  };
  function stop(): void {
    process.off('uncaughtException', onFault).off('unhandledRejection', onFault);
    process.off('beforeExit', onIdle).off('exit', onExit);
    for (const signal of deadlySignals) process.off(signal, onSignal);
  }
  process.on('uncaughtException', onFault).on('unhandledRejection', onFault);
  process.on('beforeExit', onIdle).on('exit', onExit);
  for (const signal of deadlySignals) process.on(signal, onSignal);
  return stop;
}
