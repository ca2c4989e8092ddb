/**
 * Checks the language of every page for users: no sentence above 30 words, and none of the words that readers had to translate.
 * Code and the text of links to files are not checked. `--list` prints every finding; otherwise the first 40.
 */
import { pathToFileURL } from 'node:url';
import { documentPaths, parseMarkdown, readDocument } from './docs/markdown.mjs';

const mostWords = 30;

/** Words and forms that the pages avoid, with what to write instead. */
const forbidden = [
  [/\b(?:tell|tells|told|telling)\b/i, 'log, print, report, return, show, send'],
  [/\b(?:says|said)\b/i, 'report, show, state'],
  [/\banew\b/i, 'again'],
  [/\b(?<!let )alone\b/i, 'only'],
  [/\bbut for\b/i, 'except'],
  [/\bbeside\b/i, 'next to, besides'],
  [/\b(?:mend|mends|mended|mending)\b/i, 'fix'],
  [/\b(?:stand|stands)\b(?! ?-?(?:by|for|out|up|in)\b)/i, 'is'],
  [/\b(?:goes|go|went) on\b/i, 'continue'],
  [/\b(?:be|is|are) had\b/i, 'be installed, be obtained'],
  [/\bfor ever\b/i, 'without limit'],
  [/\b(?:seldom|likewise)\b/i, 'rarely; also'],
  [/\bthousand million\b/i, 'billion'],
  [/\ban end to\b/i, 'finish, stop'],
  [/\bcan not\b/i, 'cannot'],
  [/\ba way (?:from|to|of|in)\b/i, 'a change, a method, a path'],
  [/^(?:What|Whoever|One that|Those that|That which)\b(?!.*\?$)/, 'begin with the thing itself'],
];

/** Terms that contain a forbidden word. */
const allowed = /\bstands still\b|\bstand-alone\b|\bonce the service has told it\b/gi;

/** The sentences of a page: text and line. Code counts as one word; parts of a table's cell end at semicolons too. */
export function sentencesOf(text) {
  const tokens = parseMarkdown(text);
  let line = 1;
  return tokens.flatMap((token, index) => {
    line = token.map ? token.map[0] + 1 : line;
    if (token.type !== 'inline') return [];
    const { type } = tokens[index - 1];
    const isHeading = type === 'heading_open';
    const end = type === 'td_open' ? /(?<=[.!?;]["”)]?)\s+/ : /(?<=[.!?]["”)]?)\s+/;
    const words = (token.children ?? [])
      .map(({ type, content }) =>
        type === 'text' ? content : type === 'code_inline' ? 'CODE' : type.endsWith('break') ? '\n' : '',
      )
      .join('');
    const at = line;
    return words
      .replace(/\n/g, ' ')
      .replace(/\b(e\.g|i\.e|etc|vs|No)\. /g, '$1 ')
      .split(end)
      .map((sentence) => ({ sentence: sentence.trim(), line: at, isHeading }))
      .filter(({ sentence }) => sentence !== '');
  });
}

const wordsIn = (sentence) => sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** What is wrong with the sentences of a page, as lines `page:line: …`. */
export function findingsOf(path, text) {
  return sentencesOf(text).flatMap(({ sentence, line, isHeading }) => {
    const count = wordsIn(sentence);
    // A heading is not a sentence.
    const ours = isHeading ? '' : sentence.replace(allowed, '');
    return [
      ...(count > mostWords ? [`${path}:${line}: ${count} words: ${sentence}`] : []),
      ...forbidden.flatMap(([pattern, instead]) => {
        const [found] = pattern.exec(ours) ?? [];
        return found === undefined ? [] : [`${path}:${line}: "${found}" (write: ${instead}): ${sentence}`];
      }),
    ];
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const findings = documentPaths().flatMap((path) => findingsOf(path, readDocument(path)));
  const most = process.argv.includes('--list') ? findings.length : 40;
  for (const finding of findings.slice(0, most)) process.stderr.write(`${finding}\n`);
  if (findings.length > most) process.stderr.write(`… and ${findings.length - most} more\n`);
  process.stderr.write(
    findings.length === 0 ? 'plain-english: no findings\n' : `plain-english: ${findings.length} findings\n`,
  );
  process.exitCode = findings.length === 0 ? 0 : 1;
}
