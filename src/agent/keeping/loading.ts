/** The modules that make runs. They are loaded with the first check, and again after a failure. */
export type Loading<Tools> = {
  /** Rejects if they cannot be loaded. */
  get: () => Promise<Tools>;
  /** The last try has failed, so no run can be made. */
  isBroken: () => boolean;
  /** Tries again, unless the last try has only just failed. Never rejects. */
  retry: () => Promise<void>;
};

const retryMs = 15_000;

/** `now`: milliseconds of a monotonic clock. */
export function createLoading<Tools>({
  load,
  fault,
  now = () => performance.now(),
}: {
  load: () => Promise<Tools>;
  fault: (error: unknown) => void;
  now?: () => number;
}): Loading<Tools> {
  let failedAt: number | null = null;
  const get = async (): Promise<Tools> => {
    try {
      const tools = await load();
      failedAt = null;
      return tools;
    } catch (error) {
      failedAt = now();
      throw error;
    }
  };
  return {
    get,
    isBroken: () => failedAt !== null,
    retry: async () => {
      if (failedAt === null || now() - failedAt < retryMs) return;
      // Those that come meanwhile do not try, too.
      failedAt = now();
      await get().catch(fault);
    },
  };
}
