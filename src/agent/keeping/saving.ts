import type { Kept, KeptFacts } from './kept.ts';
import type { KeptFile } from './kept-file.ts';

/** When the held checks are written into the data folder. */
export type Saving = {
  /** Checks, or the variables that they use, have changed: they are written soon. */
  changed: () => void;
  /** Writes everything. Never rejects. */
  save: () => Promise<void>;
  start: () => void;
  stop: () => void;
};

/** After a restart, the runs since then are made again. */
const everyMs = 2_000;
/** Writing takes at most this share of the time, however often checks change. But on a slow disk it is not put off for long. */
const share = 0.05;
const longestMs = 30_000;

/** What is to be written. `kept`: null = nothing is held, and nothing was; `facts`: null = nothing is held. */
export function createSaving(options: {
  file: () => Promise<KeptFile>;
  kept: () => Kept | null;
  facts: () => KeptFacts | null;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}): Saving {
  const { file, kept, facts, now = () => performance.now() } = options;
  let isDirty = false;
  let notBefore = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let isBusy = false;
  /** What was written last beside checks that had not changed since. */
  let reportedTo: number | null = null;

  const save = async (): Promise<void> => {
    const everything = kept();
    if (everything === null) return;
    isDirty = false;
    const begun = now();
    if (await (await file()).save(everything)) ({ reportedTo } = everything);
    else isDirty = true;
    notBefore = now() + Math.min(longestMs, (now() - begun) / share);
  };

  const tick = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      if (isDirty && now() >= notBefore) return await save();
      const current = facts();
      if (current === null) return;
      // The file may still have a check that was taken away. That the runs of the others are reported says nothing about its runs.
      if (!isDirty) ({ reportedTo } = current);
      await (await file()).saveFacts({ ...current, reportedTo });
    } finally {
      isBusy = false;
    }
  };

  return {
    changed: () => {
      isDirty = true;
    },
    save,
    start: () => {
      timer = setInterval(() => void tick(), everyMs);
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}
