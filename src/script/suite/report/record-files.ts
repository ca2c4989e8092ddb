import { constants } from 'node:fs';
import { open, opendir } from 'node:fs/promises';
import { readLines } from '../../process/bounded-lines.ts';
import { fieldsOf, parsedJson, type Fields } from '../../../json-values.ts';

/** At most this many matching names. A folder may contain any number of other names, which are never in memory together. */
export async function namesIn(folder: string, pattern: RegExp, limit: number): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder, { bufferSize: 512 })) {
      if (pattern.test(name)) names.push(name);
      if (names.length >= limit) break;
    }
  } catch {
    // Entries seen until then count.
  }
  return names;
}

/**
 * Calls `take` with each line of a regular file that is a JSON object, and its length; resolves with the number of
 * bytes read.
 */
export async function eachLine(
  path: string,
  maxBytes: number,
  maxLine: number,
  take: (line: Fields, length: number) => void,
): Promise<number> {
  let bytes = 0;
  if (maxBytes <= 0) return 0;
  try {
    // NONBLOCK: a pipe in the file's place must not block us.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return 0;
      const reader = readLines(maxLine, (text, cut) => {
        if (!cut && text !== '') take(fieldsOf(parsedJson(text)), text.length);
      });
      const stream = file.createReadStream({ autoClose: false, end: maxBytes - 1 });
      for await (const chunk of stream) {
        bytes += (chunk as Buffer).length; // no encoding is set
        reader.push(chunk as Buffer);
      }
      reader.end();
    } finally {
      await file.close();
    }
  } catch {
    // Lines read until then count.
  }
  return bytes;
}
