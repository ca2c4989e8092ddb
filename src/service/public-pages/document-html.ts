import { escaped } from '../../templates/escaping.ts';
import { assetNames } from '../http/answers/page-files.ts';
import type { StatusPageRow } from '../status-pages/statements.ts';
import { momentText } from './words.ts';

/** The documents around the content of status pages, and documents with one message. All texts of users are escaped. */

export const html = (text: string): string => escaped(text, 'html');

/** A moment as an element. */
export const time = (at: Date | number, timezone = 'UTC'): string =>
  `<time datetime="${new Date(at).toISOString()}">${html(momentText(at, timezone))}</time>`;

const head = (title: string) => `<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${html(title)}</title>
<link rel="stylesheet" href="/assets/${assetNames().status}">`;

/** The complete document around `main`. */
export function documentHtml(
  page: StatusPageRow,
  {
    title,
    main,
    theme: themeCss,
  }: { title: string; main: string; /** Its colours; absent = the page's own. */ theme?: string },
): string {
  const { name, url, description, defaultTheme, logo, favicon, redirectTo } = page;
  const theme = defaultTheme === 'AUTO' ? '' : ` data-theme="${defaultTheme.toLowerCase()}"`;
  const base = `/status/${url}`;
  const image = logo === null ? '' : `<img src="${html(logo)}" alt="" referrerpolicy="no-referrer">`;
  return `<!doctype html>
<html lang="en"${theme}>
${head(title)}
${description === null ? '' : `<meta name="description" content="${html(description.slice(0, 300))}">`}
<link rel="icon" href="${favicon === null ? `/assets/${assetNames().icon}` : html(favicon)}">
${page.colors === null ? '' : `<link rel="stylesheet" href="${html(themeCss ?? `${base}/theme.css`)}">`}
<link rel="alternate" type="application/atom+xml" title="${html(name)}" href="${base}/feed.atom">
</head>
<body>
<header>
${image}
<h1><a href="${html(redirectTo ?? base)}">${html(page.title ?? name)}</a></h1>
${description === null ? '' : `<p class="lead">${html(description)}</p>`}
</header>
<main>
${main}
</main>
</body>
</html>
`;
}

/** A page with one message, optionally with a button that performs the action of a link in a mail. */
export function noticeHtml(
  page: StatusPageRow,
  {
    title,
    text,
    button,
  }: { title: string; text: string; button?: { text: string; action: string; token: string } },
): string {
  const form =
    button === undefined
      ? `<p><a href="/status/${page.url}">Back to the page</a></p>`
      : `<form method="post" action="/status/${page.url}/${button.action}">` +
        `<input type="hidden" name="token" value="${html(button.token)}"><button type="submit">${html(button.text)}</button></form>`;
  return documentHtml(page, {
    title: `${page.title ?? page.name}: ${title}`,
    main: `<section class="panel message"><h2>${html(title)}</h2><p>${html(text)}</p>${form}</section>`,
  });
}

/** A document that belongs to no page, for an address without one and for refused readers. */
export const problemHtml = ({ title, text }: { title: string; text: string }): string => `<!doctype html>
<html lang="en">
${head(title)}
<link rel="icon" href="/assets/${assetNames().icon}">
</head>
<body>
<main>
<section class="panel message"><h1>${html(title)}</h1><p>${html(text)}</p></section>
</main>
</body>
</html>
`;
