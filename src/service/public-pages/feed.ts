import { escaped } from '../../templates/escaping.ts';
import type { PageView } from './page-view.ts';
import { wordOf } from './words.ts';

/** Renders the updates of a page's incidents as an Atom feed (RFC 4287), newest first. */

const maxEntries = 50;

// XML 1.0, section 2.2: these characters are not allowed, not even escaped.
// oxlint-disable-next-line no-control-regex -- those characters are the subject
const notXml = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;
const xml = (text: string) => escaped(text.replaceAll(notXml, ''), 'html');

/** `link`: the absolute URL of the page. */
export function feedXml({ page, open, past, now }: PageView, link: string): string {
  const entries = [...open, ...past]
    .flatMap((incident) => incident.updates.map((update) => ({ incident, update })))
    .sort((a, b) => b.update.createdAt.getTime() - a.update.createdAt.getTime())
    .slice(0, maxEntries);
  const updated = entries[0]?.update.createdAt ?? page.createdAt;
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>urn:uuid:${page.id}</id>`,
    `<title>${xml(page.name)}</title>`,
    `<updated>${new Date(Math.min(updated.getTime(), now)).toISOString()}</updated>`,
    `<author><name>${xml(page.name)}</name></author>`,
    `<link rel="alternate" href="${xml(link)}"/>`,
    `<link rel="self" href="${xml(link)}/feed.atom"/>`,
    ...entries.map(
      ({ incident, update }) =>
        `<entry><id>urn:uuid:${update.id}</id><title>${xml(`${wordOf(update.status)}: ${incident.name}`)}</title>` +
        `<published>${update.createdAt.toISOString()}</published>` +
        `<updated>${(update.updatedAt ?? update.createdAt).toISOString()}</updated>` +
        `<link rel="alternate" href="${xml(link)}"/><content type="text">${xml(update.description)}</content></entry>`,
    ),
    '</feed>',
    '',
  ].join('\n');
}
