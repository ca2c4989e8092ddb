import { readFileSync } from 'node:fs';

/** The text of a file; null if there is no readable file. */
export function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
