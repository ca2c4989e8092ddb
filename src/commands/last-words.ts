import { exitCodes, toError } from '../errors.ts';
import type { Log } from '../log.ts';

/** Signals that would kill the process silently, except those that the program handles itself. */
const deadlySignals = ['SIGQUIT', 'SIGUSR2', 'SIGALRM', 'SIGVTALRM', 'SIGXCPU', 'SIGABRT'] as const;

/** Fields of a fatal line for a fault of the program itself. */
export const internalFault = {
  code: 'INTERNAL',
  remedy: 'start it again, and report the fault with this line and the lines before it',
} as const;

/**
 * Logs a line for every exit of the process: an unexpected fault, a signal, a call of process.exit, an empty event
 * loop. Only SIGKILL and a crash of Node leave no line. `who` names the process in the log. Call the returned function
 * when the exit is intended.
 */
export function logEveryExit(log: Log, who: string): () => void {
  let hasLogged = false;
  const onFault = (error: unknown) => {
    hasLogged = true;
    log.fatal({ ...internalFault, err: toError(error) }, `unexpected fault: ${who} exits`);
    process.exit(exitCodes.couldNotRun);
  };
  const onIdle = () => {
    hasLogged = true;
    log.fatal(internalFault, `nothing keeps ${who} running: it exits`);
    process.exit(exitCodes.couldNotRun);
  };
  const onExit = (code: number) => {
    if (!hasLogged) log.fatal({ ...internalFault, exitCode: code }, `${who} exits unexpectedly`);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    log.fatal(
      { code: 'KILLED', remedy: 'find out who sent the signal; start it again', signal },
      `${who} was killed by a signal`,
    );
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
