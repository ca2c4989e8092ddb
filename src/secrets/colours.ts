/** Colours of terminals: sequences that stand within words where differences are shown, and so hide them from a search. */

export const escapeSequence = '\x1b[';

// eslint-disable-next-line no-control-regex -- ESC begins such a sequence
const colour = /\x1b\[[0-9;]*m/g;

/** `text` without colours. */
export function withoutColours(text: string): string {
  return text.replaceAll(colour, '');
}
