/** Colours of terminals: escape sequences inside words, as in printed differences, which hide the words from a search. */

export const escapeSequence = '\x1b[';

// eslint-disable-next-line no-control-regex -- ESC begins such a sequence
const colour = /\x1b\[[0-9;]*m/g;

/** `text` without colours. */
export function withoutColours(text: string): string {
  return text.replaceAll(colour, '');
}
