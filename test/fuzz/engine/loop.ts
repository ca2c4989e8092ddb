import { createMutator } from './mutate.ts';
import { defaultMaxBytes, type Target } from './target.ts';

/** What new code an input reached; absent = the corpus stays as it is. */
export type Coverage = {
  /** Forgets what ran before the next input. */
  reset: () => void;
  /** Whether blocks ran since `reset` that are not known; they stay unknown. */
  isNew: () => boolean;
  /** Number of blocks that ran since `reset` and were not known; they are known from now on. */
  takeNew: () => number;
  /** Number of known blocks. */
  total: () => number;
};

export type LoopOptions = {
  seed: number;
  /** Inputs so far → whether to go on. */
  goesOn: (executions: number) => boolean;
  coverage?: Coverage;
  /** Inputs of earlier runs, which are seeds too. */
  kept?: readonly Buffer[];
  /** Called with each input that reached new code. */
  onNew?: (data: Buffer) => void;
  /** Called before each input. */
  onInput?: (data: Buffer) => void;
  /** Called after each input. */
  onDone?: (data: Buffer) => void;
};

export type LoopEnd = {
  executions: number;
  corpus: number;
  blocks: number;
  /** Blocks that the seeds alone reached. */
  seedBlocks: number;
  /** The input that failed, and how. */
  failure: { input: Buffer; error: unknown } | null;
};

/** Inputs between two looks at the coverage: a look costs about as much as many inputs. */
const batchSize = 64;
const maxCorpus = 5000;

/** The seeds of a target, never none. */
export async function seedsOf(target: Target): Promise<Buffer[]> {
  const seeds = (await target.seeds?.()) ?? [];
  return [...seeds.map((seed) => Buffer.from(seed as string)), Buffer.alloc(0), Buffer.from('a')];
}

/** Runs inputs through a target: first its seeds, then changed ones, until `goesOn` says no or one fails. */
export async function runLoop(target: Target, options: LoopOptions): Promise<LoopEnd> {
  const { coverage, onInput, onDone, onNew } = options;
  const mutator = createMutator(options.seed);
  const maxBytes = target.maxBytes ?? defaultMaxBytes;
  const dictionary = (target.dictionary ?? []).map((word) => Buffer.from(word as string));
  const corpus = [...(await seedsOf(target)), ...(options.kept ?? [])];
  const seeds = corpus.length;
  const end: LoopEnd = { executions: 0, corpus: 0, blocks: 0, seedBlocks: 0, failure: null };

  const one = async (input: Buffer): Promise<boolean> => {
    // The target may change its input.
    onInput?.(input);
    end.executions += 1;
    try {
      await target.run(Buffer.from(input));
    } catch (error) {
      end.failure = { input, error };
      return false;
    }
    onDone?.(input);
    return true;
  };

  const batch = async (inputs: readonly Buffer[]): Promise<boolean> => {
    coverage?.reset();
    for (const input of inputs) {
      if (!(await one(input))) return false;
      if (!options.goesOn(end.executions)) break;
    }
    if (coverage === undefined || !coverage.isNew()) return true;
    // Which of them it was: once more, one by one. A block that ran only at the first time belongs to none of them.
    for (const input of inputs) {
      coverage.reset();
      if (!(await one(input))) return false;
      if (coverage.takeNew() === 0 || corpus.length >= maxCorpus) continue;
      corpus.push(input);
      onNew?.(input);
    }
    return true;
  };

  for (const input of corpus.slice(0, seeds)) {
    if (!(await one(input))) return closed(end);
    // Many inputs of earlier runs take a while.
    if (coverage !== undefined && !options.goesOn(end.executions)) break;
  }
  coverage?.takeNew();
  end.seedBlocks = coverage?.total() ?? 0;
  while (options.goesOn(end.executions)) {
    const inputs = Array.from({ length: batchSize }, () => mutator.next({ corpus, dictionary, maxBytes }));
    if (!(await batch(inputs))) break;
  }
  return closed(end);

  function closed(result: LoopEnd): LoopEnd {
    return { ...result, corpus: corpus.length, blocks: coverage?.total() ?? 0 };
  }
}
