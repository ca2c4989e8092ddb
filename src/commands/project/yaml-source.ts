import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Document, LineCounter } from 'yaml';
import { isFields, type Fields } from '../../json-values.ts';

/** Documents of YAML and JSON files, with the lines of their values. */

export type Source = { file: string; document: Document; lines: LineCounter };

/** The documents of a file. Those with errors are left out, and the errors are noted. JSON is YAML. */
export async function parse(folder: string, file: string, problems: string[]): Promise<Source[]> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lines = new LineCounter();
  const parsed = parseAllDocuments(await readFile(join(folder, file), 'utf8'), { lineCounter: lines });
  const documents = Array.isArray(parsed) ? parsed : [];
  for (const { errors } of documents) {
    for (const { message, linePos } of errors) {
      problems.push(`${file}:${linePos?.[0].line ?? 1}: ${message.split('\n')[0] ?? ''} Correct the syntax.`);
    }
  }
  return documents
    .filter(({ errors, contents }) => errors.length === 0 && contents !== null)
    .map((document) => ({ file, document, lines }));
}

/** The fields of a document that is an object. */
export const fieldsOfSource = ({ document }: Source): Fields => {
  const value: unknown = document.toJS();
  return isFields(value) ? value : {};
};

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
