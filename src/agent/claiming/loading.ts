import { exitCodes, FatalError, toError } from '../../errors.ts';

/** The modules that make runs. They are loaded with the first run, once for all who ask. */
export type Loading<Tools> = {
  /** Rejects if they cannot be loaded. */
  get: () => Promise<Tools>;
  /** They cannot be loaded now, so no run can be made. */
  isBroken: () => boolean;
  stop: () => void;
};

/** Of failures in a row. */
const mostTries = 4;

/**
 * `fault`: called after each try that has failed. The next one follows by itself after `retryMs`. Node remembers most failures of
 * an import, so that only another process can load the module. Therefore `fail` is called after the last try.
 */
export function createLoading<Tools>({
  load,
  fault,
  fail,
  retryMs = 15_000,
}: {
  load: () => Promise<Tools>;
  fault: (error: unknown) => void;
  fail: (error: FatalError) => void;
  retryMs?: number | undefined;
}): Loading<Tools> {
  let loading: Promise<Tools> | null = null;
  let failures = 0;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const begin = (): Promise<Tools> => {
    const current = load();
    loading = current;
    current.then(
      () => {
        failures = 0;
      },
      (error: unknown) => {
        failures += 1;
        if (isStopped) return;
        fault(error);
        if (failures >= mostTries) return fail(notLoaded(toError(error)));
        timer = setTimeout(() => void begin(), retryMs);
        timer.unref();
      },
    );
    return current;
  };
  return {
    get: () => loading ?? begin(),
    isBroken: () => failures > 0,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function notLoaded(cause: Error): FatalError {
  return new FatalError('MODULES_UNAVAILABLE', `what runs need cannot be loaded (${cause.message})`, {
    exitCode: exitCodes.couldNotRun,
    remedy: 'start the agent again; if that does not help, install it again',
    cause,
  });
}
