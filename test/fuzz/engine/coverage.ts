import { Session, type Profiler } from 'node:inspector';
import type { Coverage } from './loop.ts';

/** Counts blocks of JavaScript with V8's precise coverage, in this thread. `counts`: whether a script's code counts. */
export function createCoverage(counts: (url: string) => boolean): Coverage {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const known = new Set<string>();
  /** The blocks that ran since the last call and are not known yet. */
  const unknownBlocks = (): string[] => {
    let scripts: Profiler.ScriptCoverage[] = [];
    // The session is of this thread, so the answer is there when `post` returns.
    session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      scripts = answer.result;
    });
    return scripts
      .filter(({ url }) => counts(url))
      .flatMap(({ scriptId, functions }) =>
        functions.flatMap(({ ranges }) =>
          ranges
            .filter(({ count }) => count > 0)
            .map(({ startOffset, endOffset }) => `${scriptId}:${startOffset}:${endOffset}`)
            .filter((block) => !known.has(block)),
        ),
      );
  };
  return {
    reset: () => void unknownBlocks(),
    isNew: () => unknownBlocks().length > 0,
    takeNew: () => {
      const blocks = unknownBlocks();
      for (const block of blocks) known.add(block);
      return blocks.length;
    },
    total: () => known.size,
  };
}
