import { shortened } from '../shortened.ts';

/** Texts for people: no terminal colours, limited length. */

// oxlint-disable-next-line no-control-regex -- terminal sequences are made of control characters
const terminalSequence = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g;

/** `text` without terminal sequences, cut to `maxLength` characters. */
export function plainText(text: string, maxLength: number): string {
  // Twice the limit leaves room for removed sequences, and limits the work on a text of many megabytes.
  const plain = text.slice(0, maxLength * 2).replaceAll(terminalSequence, '');
  if (plain.length <= maxLength && text.length <= maxLength * 2) return plain;
  // With its colours removed the start may be short; the mark still says that more followed.
  return plain.length < maxLength ? `${plain}…` : shortened(plain, maxLength - 1);
}

export type ErrorParts = {
  message?: string | undefined;
  stack?: string | undefined;
  value?: string | undefined;
  snippet?: string | undefined;
};

/**
 * An error of Playwright's as one readable text: message, the script lines around it, and the script's own stack
 * frames, with paths relative to `folder`.
 */
export function errorText(error: ErrorParts, folder: string, maxLength: number): string {
  const message = error.message ?? error.value ?? firstLines(error.stack) ?? 'unknown error';
  const frames = (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !/node_modules|node:internal|\/script\/child\//.test(line))
    .slice(0, 10);
  const parts = [message.trimEnd(), error.snippet?.trimEnd() ?? '', frames.join('\n')].filter(
    (part) => part !== '',
  );
  const text = plainText(parts.join('\n\n'), maxLength);
  return folder === '' ? text : text.split(`${folder}/`).join('');
}

function firstLines(stack: string | undefined): string | undefined {
  return stack?.split(/\n\s+at /)[0];
}
