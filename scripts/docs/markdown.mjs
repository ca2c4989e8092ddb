/** What the project's scripts and tests share to read its Markdown: the parser, headings as GitHub names them, and links. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import MarkdownIt from 'markdown-it';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Pages outside docs/ that users read. */
const atTop = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md'];

/** Every page for users, as a path from the project's folder. */
export function documentPaths() {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => posix.join('docs', name.split('\\').join('/')));
  return [...atTop, ...inDocs.sort()];
}

/** The page's text. */
export const readDocument = (path) => readFileSync(join(root, path), 'utf8');

const parser = new MarkdownIt({ html: true });

/** The page's tokens, in order. */
export const parseMarkdown = (text) => parser.parse(text, {});

/** The text that a reader sees in an inline token. */
export const textOf = (token) =>
  (token.children ?? [])
    .map((child) => (child.type === 'softbreak' || child.type === 'hardbreak' ? ' ' : inlineText(child)))
    .join('');

const inlineText = ({ type, content, children }) =>
  type === 'text' || type === 'code_inline'
    ? content
    : type === 'image'
      ? (children ?? []).map(inlineText).join('')
      : '';

/** Gives each heading of one page its anchor, as GitHub does. */
export function createAnchors() {
  const used = new Map();
  return (heading) => {
    const plain = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-');
    const count = used.get(plain) ?? 0;
    used.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
  };
}

/** The headings of a page: level, text, anchor, and the line that each is on. */
export function headingsOf(tokens) {
  const anchorOf = createAnchors();
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open') return [];
    const text = textOf(tokens[index + 1]);
    return [{ level: Number(token.tag.slice(1)), text, anchor: anchorOf(text), line: token.map[0] + 1 }];
  });
}

/** The addresses of links and images of a page, with the line of their block. */
export function linksOf(tokens) {
  let line = 1;
  return tokens.flatMap((token) => {
    // Cells of a table have no line of their own.
    line = token.map ? token.map[0] + 1 : line;
    const at = line;
    return (token.children ?? []).flatMap((child) => {
      const address = child.attrGet?.('href') ?? child.attrGet?.('src');
      return address ? [{ address, isImage: child.type === 'image', line: at }] : [];
    });
  });
}

/** Splits an address relative to `page` into a path from the project's folder and an anchor; null = it leads elsewhere. */
export function localTarget(page, address) {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/)/i.test(address)) return null;
  const [path = '', anchor = ''] = address.split('#');
  const full = path === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(path));
  return { path: full, anchor: decodeURIComponent(anchor) };
}

/** The relative address from one file of a site to another. */
export const relativeAddress = (from, to) => {
  const path = relative(posix.dirname(from), to).split('\\').join('/');
  return path === '' ? './' : path;
};
