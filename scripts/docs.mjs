/**
 * `npm run docs` renders every page for users as a static site with a search, in build/help. `node scripts/docs.mjs FOLDER` writes
 * it to another folder. It needs no network. The service shows the site at `/help` (src/service/pages/help.ts).
 *
 * Every address in the site is relative, so that it works below any path. Files in assets/ have a hash of their content in the
 * name. Each file is also there compressed (.gz).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, posix, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import Eleventy from '@11ty/eleventy';
import { build } from 'esbuild';
import { groups } from './docs/contents.mjs';
import {
  createAnchors,
  documentPaths,
  headingsOf,
  localTarget,
  parseMarkdown,
  readDocument,
  relativeAddress,
  root,
  textOf,
} from './docs/markdown.mjs';
import { swapFolder } from './swap-folder.mjs';

const folder = resolve(process.argv[2] ?? join(root, 'build', 'help'));
/** Files whose names would be taken twice, or that a server looks for. */
const special = { 'README.md': 'index.html', 'SECURITY.md': 'security-policy.html' };
const fileOf = (path) =>
  special[path] ??
  `${path
    .replace(/^docs\//, '')
    .replace(/\.md$/, '')
    .toLowerCase()}.html`;

const pages = new Map(
  documentPaths().map((path) => {
    const text = readDocument(path);
    const tokens = parseMarkdown(text);
    const headings = headingsOf(tokens);
    const [first] = headings;
    return [
      path,
      { path, file: fileOf(path), text, tokens, headings, heading: first?.text ?? basename(path) },
    ];
  }),
);

/** The sections of a page, which are what the search finds. */
function sectionsOf({ file, heading, headings, tokens }) {
  const sections = [];
  let next = 0;
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const { anchor, text } = headings[next++];
      sections.push({
        address: next === 1 ? file : `${file}#${anchor}`,
        title: text,
        page: heading,
        text: '',
      });
    } else if (tokens[index - 1]?.type !== 'heading_open') {
      const last = sections.at(-1);
      if (last === undefined) continue;
      if (token.type === 'inline') last.text += `${textOf(token)} `;
      if (token.type === 'fence') last.text += `${token.content} `;
    }
  }
  return sections.map((section) => ({ ...section, text: section.text.replace(/\s+/g, ' ').trim() }));
}

/** Name in assets/ → content. */
const assets = new Map();
function addAsset(name, content) {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
  const hashed = `${basename(name, extname(name))}-${hash}${extname(name)}`;
  assets.set(hashed, bytes);
  return hashed;
}

const bundled = await build({
  absWorkingDir: root,
  entryPoints: { search: 'scripts/docs/search.mjs', style: 'scripts/docs/style.css' },
  outdir: 'out',
  write: false,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
  logLevel: 'warning',
});
const bundle = (extension) =>
  bundled.outputFiles.find(({ path }) => extname(path) === extension)?.contents ?? new Uint8Array();
const names = {
  search: addAsset('search.js', bundle('.js')),
  style: addAsset('style.css', bundle('.css')),
  icon: addAsset('icon.svg', readFileSync(join(root, 'src/service/pages/browser/icon.svg'))),
  sections: addAsset('sections.json', JSON.stringify([...pages.values()].flatMap(sectionsOf))),
};

/** The address of a link in the site; null = the file is only in the repository. */
function linkAddress(page, address) {
  const target = localTarget(page.path, address);
  if (target === null) return address;
  const to = pages.get(target.path);
  if (to === undefined) return null;
  const anchor = target.anchor === '' ? '' : `#${target.anchor}`;
  return to === page && anchor !== '' ? anchor : relativeAddress(page.file, to.file) + anchor;
}

/** The changes to the pages between their Markdown and their HTML. */
function adapt(parser) {
  parser.set({ html: true });
  parser.core.ruler.push('site', ({ tokens, env }) => {
    const page = pages.get(env.source);
    const anchorOf = createAnchors();
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const anchor = anchorOf(textOf(tokens[index + 1]));
        token.attrSet('id', anchor);
        token.meta = { anchor };
      }
      if (token.type === 'heading_close') token.meta = tokens[index - 2]?.meta ?? null;
      const unlinked = [];
      for (const child of token.children ?? []) {
        if (child.type === 'link_open') {
          const address = linkAddress(page, child.attrGet('href'));
          unlinked.push(address === null);
          if (address === null)
            Object.assign(child, { type: 'file_open', tag: 'span', attrs: [['class', 'file']] });
          else child.attrSet('href', address);
        } else if (child.type === 'link_close' && unlinked.pop()) {
          Object.assign(child, { type: 'file_close', tag: 'span' });
        } else if (child.type === 'image') {
          const target = localTarget(page.path, child.attrGet('src'));
          if (target === null) throw new Error(`${page.path}: the image is not a file of the project`);
          const name = addAsset(posix.basename(target.path), readFileSync(join(root, target.path)));
          child.attrSet('src', relativeAddress(page.file, `assets/${name}`));
        }
      }
    }
  });
  const { rules } = parser.renderer;
  rules.heading_close = (tokens, index) => {
    const { tag, meta } = tokens[index];
    const link =
      meta === null ? '' : `<a class="anchor" href="#${meta.anchor}" aria-label="Link to this section">#</a>`;
    return `${link}</${tag}>\n`;
  };
  // Wide tables scroll by themselves; a keyboard can do it too.
  rules.table_open = () => '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n';
  rules.table_close = () => '</table></div>\n';
  // Comments are for tests; other HTML could break the site's policy.
  const html = (tokens, index, _options, env) => {
    const { content } = tokens[index];
    if (/^\s*(?:<!--[^]*?-->\s*)+$/.test(content)) return '';
    if (/^<br ?\/?>$/.test(content)) return '<br />';
    throw new Error(`${env.source}: HTML in a page: ${content.trim().slice(0, 60)}`);
  };
  rules.html_block = html;
  rules.html_inline = html;
}

const listed = new Set(groups.flatMap((group) => group.pages));
const contents = groups.map((group, index) => {
  const others = index === groups.length - 1 ? [...pages.keys()].filter((path) => !listed.has(path)) : [];
  return {
    title: group.title,
    pages: [...group.pages, ...others]
      .flatMap((path) => pages.get(path) ?? [])
      .map(({ file, heading }) => ({ file, heading })),
  };
});

process.chdir(root);
const eleventy = new Eleventy('scripts/docs', 'build/help', {
  quietMode: true,
  configPath: false,
  config(config) {
    config.setUseGitIgnore(false);
    config.setTemplateFormats(['md', 'liquid']);
    config.setIncludesDirectory('.');
    config.ignores.add('scripts/docs/*.liquid');
    config.amendLibrary('md', adapt);
    for (const page of pages.values())
      config.addTemplate(page.path, page.text, {
        layout: 'page.liquid',
        permalink: `/${page.file}`,
        // Pages have templates of the product in their examples.
        templateEngineOverride: 'md',
        source: page.path,
        file: page.file,
        heading: page.heading,
        outline: page.headings.filter(({ level }) => level === 2),
        toTop: relativeAddress(page.file, '') === './' ? './' : `${relativeAddress(page.file, '')}/`,
        contents,
        assets: names,
      });
  },
});
const rendered = await eleventy.toJSON();
if (rendered.length !== pages.size)
  throw new Error(`${rendered.length} of ${pages.size} pages were rendered`);

const fresh = `${folder}.${process.pid}.new`;
rmSync(fresh, { recursive: true, force: true });
function put(name, content) {
  const file = join(fresh, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}
for (const { url, content } of rendered) put(url.endsWith('/') ? `${url}index.html` : url, content);
for (const [name, content] of assets) put(join('assets', name), content);
mkdirSync(dirname(folder), { recursive: true });
swapFolder(fresh, folder);
process.stderr.write(`docs: ${pages.size} pages in ${folder}\n`);
