import { StringDecoder } from 'node:string_decoder';
import { shortened } from '../../shortened.ts';

/** Splits chunks of a stream into lines; never holds more than `maxLength` characters, whatever arrives. */
export type LineReader = { push: (chunk: Buffer) => void; end: () => void };

/**
 * Calls `take` with each line, without its line end; `cut` = the line was longer, and the rest is lost. A last line
 * without a line end counts as a line.
 */
export function readLines(maxLength: number, take: (line: string, cut: boolean) => void): LineReader {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let length = 0;

  const keep = (text: string): void => {
    if (text === '' || length > maxLength) return;
    // One character more than a line may have, so that a cut is seen and marked wherever the pieces of the stream end.
    const kept = shortened(text, maxLength + 1 - length);
    parts.push(kept);
    length += kept.length;
  };
  const finish = (): void => {
    const line = shortened(parts.join(''), maxLength);
    const wasCut = length > maxLength;
    parts = [];
    length = 0;
    take(line, wasCut);
  };
  const read = (text: string): void => {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      keep(text.slice(from, end));
      from = end + 1;
      finish();
    }
    keep(text.slice(from));
  };
  return {
    push: (chunk) => read(decoder.write(chunk)),
    end: () => {
      read(decoder.end());
      if (length > 0) finish();
    },
  };
}
