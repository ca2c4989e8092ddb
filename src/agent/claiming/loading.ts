/** The modules that make runs. They are loaded with the first run, once for all who ask. */
export type Loading<Tools> = {
  /** Rejects if they cannot be loaded. */
  get: () => Promise<Tools>;
  /** They cannot be loaded now, so no run can be made. */
  isBroken: () => boolean;
  stop: () => void;
};

/** `fault`: called after each try that has failed. A later try follows by itself, every `retryMs`. */
export function createLoading<Tools>({
  load,
  fault,
  retryMs = 15_000,
}: {
  load: () => Promise<Tools>;
  fault: (error: unknown) => void;
  retryMs?: number | undefined;
}): Loading<Tools> {
  let loading: Promise<Tools> | null = null;
  let isBroken = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const begin = (): Promise<Tools> => {
    const current = load();
    loading = current;
    current.then(
      () => {
        isBroken = false;
      },
      (error: unknown) => {
        isBroken = true;
        if (isStopped) return;
        fault(error);
        timer = setTimeout(() => void begin(), retryMs);
        timer.unref();
      },
    );
    return current;
  };
  return {
    get: () => loading ?? begin(),
    isBroken: () => isBroken,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
