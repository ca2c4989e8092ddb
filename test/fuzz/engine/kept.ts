import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of `--corpus`: a folder per target with the inputs that reached new code, and what all runs took. */

/** What all runs of a target with this folder took together. */
export type Spent = { runs: number; seconds: number; executions: number };

const spentFile = 'spent.json';

/** The inputs of earlier runs, in the same order each time. */
export function keptInputs(folder: string): Buffer[] {
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(folder).filter((name) => name !== spentFile);
  return names.sort().map((name) => readFileSync(join(folder, name)));
}

/** Keeps an input under a name that its content gives. */
export function keepInput(folder: string, input: Buffer): void {
  const name = createHash('sha256').update(input).digest('hex').slice(0, 16);
  writeFileSync(join(folder, name), input);
}

/** What earlier runs took; zeros if there were none. */
export function spentSoFar(folder: string): Spent {
  try {
    return JSON.parse(readFileSync(join(folder, spentFile), 'utf8')) as Spent; // written below
  } catch {
    return { runs: 0, seconds: 0, executions: 0 };
  }
}

/** Adds a run to what earlier ones took, and returns the sum. */
export function addSpent(folder: string, run: Omit<Spent, 'runs'>): Spent {
  const before = spentSoFar(folder);
  const sum = {
    runs: before.runs + 1,
    seconds: Math.round(before.seconds + run.seconds),
    executions: before.executions + run.executions,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, spentFile), JSON.stringify(sum));
  return sum;
}
