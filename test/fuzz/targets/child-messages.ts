import { readReply } from '../../../src/script/api/reply.ts';
import { isNestedDeeper, parsedJson } from '../../../src/json-values.ts';
import { readLines } from '../../../src/script/process/bounded-lines.ts';
import { parseJsonDocument } from '../../../src/executors/assertions/json-path-document.ts';

/** Lines of children that run customer code, and JSON texts of anybody. */

export const name = 'child-messages';

const longest = 1024;

/** Throws if a line is too long, depends on the pieces it came in, or is not read. */
export function run(data: Buffer): void {
  const whole = linesOf(data, data.length);
  const inPieces = linesOf(data, 1 + ((data[0] ?? 0) % 7));
  if (JSON.stringify(whole) !== JSON.stringify(inPieces)) throw new Error('the pieces change the lines');
  for (const line of whole) {
    // The mark of a cut comes on top.
    if (line.length > longest + 1) throw new Error('a line is too long');
    const isDeep = isNestedDeeper(line, 32);
    const value = parsedJson(line);
    if (!isDeep) {
      readReply(value);
      if (value !== undefined && depthOf(value) > 32) throw new Error('deeper than it looked');
    }
    try {
      parseJsonDocument(line);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
}

function linesOf(data: Buffer, size: number): string[] {
  const lines: string[] = [];
  const reader = readLines(longest, (line) => lines.push(line));
  for (let from = 0; from < data.length; from += size) reader.push(data.subarray(from, from + size));
  reader.end();
  return lines;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

export const seeds = (): string[] => [
  '{"kind":"log","level":"info","msg":"é"}\n{"kind":"secret","name":"A","value":"b"}\n',
  '{"kind":"failed","id":1,"code":"SCRIPT_THREW","message":"m","at":null}\r\n',
  '{"kind":"done","id":1,"request":{"method":"GET","url":"u","body":null,"headers":{},"queryParameters":{}},"body":null,"env":{"set":{},"unset":[]}}',
  `${'['.repeat(40)}"]"${']'.repeat(40)}\n{"a":12345678901234567890}`,
];

export const dictionary = [
  '{"',
  '":',
  '[',
  ']',
  '{',
  '}',
  '\\"',
  '\\\\',
  '"',
  '\n',
  'null',
  '\\u0000',
  '🚀',
  '12345678901234567890',
];
