/** The code blocks of the pages, in order. The words after the language of a fence are its marks. */
import { headingsOf, parseMarkdown, readDocument } from './markdown.mjs';

/** Blocks with language, marks, content, first line, and the heading above. */
export function blocksOf(text) {
  const tokens = parseMarkdown(text);
  const headings = headingsOf(tokens);
  return tokens.flatMap((token) => {
    if (token.type !== 'fence') return [];
    const [language = '', ...marks] = token.info.trim().split(/\s+/);
    const line = token.map[0] + 1;
    const section = headings.findLast((heading) => heading.line < line)?.text ?? '';
    return [{ language, marks, content: token.content, line, section }];
  });
}

export const documentOf = (path) => blocksOf(readDocument(path));
