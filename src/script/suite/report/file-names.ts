import { basename, extname } from 'node:path';
import type { KeptFile } from '../../playwright/files.ts';
import type { ReadAttachment, ReadTest } from './lines.ts';

/** Names for the files of a suite's tests, made from their titles. They are scrubbed when the files are stored. */

/**
 * The prefix of a try's file names: its test file, its title, its project. A part that is too long is left out as a
 * whole: names are scrubbed later, and the scrubber could not recognise the beginning of a secret.
 */
export function baseOf(test: ReadTest, retry: number): string {
  const stem = basename(test.file).replace(/(\.(spec|test))?\.\w+$/, '');
  const parts = [stem, ...test.titlePath.slice(1)].map(safe).filter((part) => part !== '');
  const words = fitting(parts, nameLengths.title);
  const id = test.id.replaceAll(/[^A-Za-z0-9]/g, '').slice(-12);
  // The id: for titles that were left out, and for those without a character that is allowed in a name.
  const label = words.length > 0 && words.length === parts.length ? words : [...words, id];
  const project = fitting([safe(test.project)], nameLengths.project);
  const all = [...label, ...project, retry === 0 ? '' : `retry${retry}`];
  return all.filter((part) => part !== '').join('-');
}

const nameLengths = { title: 100, project: 30, attachment: 50, ending: 12 };

/** The first of `parts` that together have at most `length` characters with one between them; none is cut. */
function fitting(parts: readonly string[], length: number): string[] {
  const fit: string[] = [];
  let room = length + 1;
  for (const part of parts) {
    room -= part.length + 1;
    if (room < 0) break;
    fit.push(part);
  }
  return fit;
}

const safe = (text: string): string => text.replaceAll(/[^A-Za-z0-9_]+/g, '-').replaceAll(/^-+|-+$/g, '');

/** The name of an attachment's file, below the prefix of its try. */
export function nameOf(base: string, attachment: ReadAttachment, file: KeptFile): string {
  if (file.type === 'trace') return `${base}.zip`;
  if (file.type === 'video') return `${base}${extname(file.path) === '' ? '.webm' : extname(file.path)}`;
  // Playwright names its copy of a file after the attachment and a hash.
  const own = basename(attachment.path ?? attachment.name).replace(/-[0-9a-f]{40}(?=\.\w+$|$)/, '');
  const [word = ''] = fitting([safe(own.slice(0, own.length - extname(own).length))], nameLengths.attachment);
  const [ending = ''] = fitting([extname(own).replaceAll(/[^A-Za-z0-9.]/g, '')], nameLengths.ending);
  const known = endings[attachment.contentType.split(';')[0] ?? ''] ?? '';
  return `${base}-${word === '' ? 'attachment' : word}${ending === '' ? known : ending}`;
}

const endings: { readonly [contentType: string]: string } = {
  'text/plain': '.txt',
  'text/html': '.html',
  'text/markdown': '.md',
  'application/json': '.json',
  'image/png': '.png',
  'image/jpeg': '.jpg',
};

/** `name`, with a number if it is among `taken`, which gets the result. */
export function unique(name: string, taken: Set<string>): string {
  const ending = extname(name);
  const stem = name.slice(0, name.length - ending.length);
  for (let count = 1; ; count++) {
    const each = count === 1 ? `${stem}${ending}` : `${stem}-${count}${ending}`;
    if (taken.has(each)) continue;
    taken.add(each);
    return each;
  }
}
