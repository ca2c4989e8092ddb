import { StringDecoder } from 'node:string_decoder';

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
  let cut = false;

  const keep = (text: string): void => {
    const room = maxLength - length;
    if (text.length > room) cut = true;
    const kept = text.length > room ? text.slice(0, room) : text;
    if (kept === '') return;
    parts.push(kept);
    length += kept.length;
  };
  const finish = (): void => {
    const line = parts.join('');
    const wasCut = cut;
    parts = [];
    length = 0;
    cut = false;
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
      if (length > 0 || cut) finish();
    },
  };
}
