import type { ArtifactScrubbing } from './artifact-scrubbing.ts';
import { escapeSequence, withoutColours } from '../colours.ts';
import type { Pieces } from './content.ts';
import { maskHeaderLines } from '../tree/sensitive-headers.ts';

// A longer line is processed in parts.
const maxLineLength = 1024 * 1024;
const callLog = 'Call log:';

/**
 * Removes colours inside secrets, and values of sensitive headers in the request logs of errors. The text is cut at
 * line ends.
 */
export async function* readableLines(pieces: Pieces, scrubbing: ArtifactScrubbing): AsyncGenerator<Buffer> {
  let waiting: Buffer = Buffer.alloc(0);
  let inCallLog = false;

  function readable(block: Buffer): Buffer {
    inCallLog ||= block.includes(callLog);
    const coloured = block.includes(escapeSequence);
    if (!inCallLog && !coloured) return block;
    // Latin-1 preserves every byte.
    const text = block.toString('latin1');
    const masked = inCallLog ? maskHeaderLines(text, scrubbing.headers) : text;
    if (coloured) {
      const plain = Buffer.from(withoutColours(masked), 'latin1');
      if (plain.length < masked.length && scrubbing.scrubber.find(plain).length > 0) return plain;
    }
    return masked === text ? block : Buffer.from(masked, 'latin1');
  }

  for await (const piece of pieces) {
    const end = piece.lastIndexOf(10) + 1;
    if (end > 0) {
      yield readable(
        waiting.length === 0 ? piece.subarray(0, end) : Buffer.concat([waiting, piece.subarray(0, end)]),
      );
      waiting = Buffer.from(piece.subarray(end));
    } else {
      waiting = Buffer.concat([waiting, piece]);
    }
    if (waiting.length > maxLineLength) {
      yield readable(waiting);
      waiting = Buffer.alloc(0);
    }
  }
  if (waiting.length > 0) yield readable(waiting);
}
