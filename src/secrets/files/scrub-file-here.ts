import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { ScrubbedFile, ScrubFileTask } from './scrub-task.ts';
import { createScrubber, scrubChunkBytes } from '../scrubber/scrubber.ts';

/**
 * Scrubs the file `source` into the new file `target` (mode 0600) on this thread, synchronously: only for a thread that
 * has nothing else to do. Throws errors of the file system.
 */
export function scrubFileHere({ source, target, secrets }: ScrubFileTask): ScrubbedFile {
  const scrubber = createScrubber(secrets);
  const sieve = scrubber.sieve();
  const input = openSync(source, 'r');
  try {
    const output = openSync(target, 'wx', 0o600);
    try {
      const chunk = Buffer.allocUnsafeSlow(scrubChunkBytes);
      let bytesIn = 0;
      let bytesOut = 0;
      const write = (pieces: readonly Buffer[]): void => {
        for (const piece of pieces) {
          for (let at = 0; at < piece.length;) at += writeSync(output, piece, at);
          bytesOut += piece.length;
        }
      };
      for (let read = readSync(input, chunk); read > 0; read = readSync(input, chunk)) {
        bytesIn += read;
        write(sieve.push(chunk.subarray(0, read)));
      }
      write(sieve.end());
      return { bytesIn, bytesOut, maskedCount: scrubber.maskedCount };
    } finally {
      closeSync(output);
    }
  } finally {
    closeSync(input);
  }
}
