import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document, LineCounter } from 'yaml';
import { toError } from '../../errors.ts';
import { isFields, type Fields } from '../../json-values.ts';
import { shortened } from '../../shortened.ts';

/** Documents of YAML and JSON files, with the lines of their values. */

export type Source = { file: string; document: Document; lines: LineCounter; value: unknown };

/** The documents of a file. Those with errors are left out, and the errors are noted. JSON is YAML. */
export async function parse(folder: string, file: string, problems: string[]): Promise<Source[]> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lines = new LineCounter();
  const text = await readFile(join(folder, file), 'utf8');
  const parsed = withoutError(() => parseAllDocuments(text, { lineCounter: lines }));
  if ('problem' in parsed) problems.push(`${file}:1: ${parsed.problem} Correct the syntax.`);
  const documents = 'value' in parsed && Array.isArray(parsed.value) ? parsed.value : [];
  for (const { errors } of documents) {
    for (const { message, linePos } of errors) {
      problems.push(`${file}:${linePos?.[0].line ?? 1}: ${message.split('\n')[0] ?? ''} Correct the syntax.`);
    }
  }
  return documents
    .filter(({ errors, contents }) => errors.length === 0 && contents !== null)
    .flatMap((document) => {
      const read = withoutError(() => {
        const value: unknown = document.toJS();
        if (isCircular(value, [])) throw new Error('an alias is inside of what it names.');
        return value;
      });
      if ('value' in read) return [{ file, document, lines, value: read.value }];
      const at = document.contents?.range?.[0] ?? 0;
      problems.push(
        `${file}:${lines.linePos(at).line}: ${read.problem} Correct the aliases and the nesting.`,
      );
      return [];
    });
}

/** The library throws for aliases without an anchor, for very many of them, and for deep nesting. */
function withoutError<T>(read: () => T): { value: T } | { problem: string } {
  try {
    return { value: read() };
  } catch (error) {
    return { problem: shortened(toError(error).message.split('\n')[0] ?? '', 300) };
  }
}

function isCircular(value: unknown, holders: readonly object[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (holders.includes(value)) return true;
  return Object.values(value).some((part) => isCircular(part, [...holders, value]));
}

/** The fields of a document that is an object. */
export const fieldsOfSource = ({ value }: Source): Fields => (isFields(value) ? value : {});

/** The line of the innermost known part of a path. */
export function placeOf({ file, document, lines }: Source, path: readonly (string | number)[]): string {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    const range = isNode(node) ? node.range : undefined;
    if (range !== undefined && range !== null) return `${file}:${lines.linePos(range[0]).line}`;
  }
  return `${file}:1`;
}

const isNode = (node: unknown): node is { range?: readonly number[] & { 0: number } } =>
  typeof node === 'object' && node !== null && 'range' in node;
