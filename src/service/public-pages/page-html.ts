import { escaped } from '../../templates/escaping.ts';
import { assetNames } from '../http/page-files.ts';
import {
  pastMaintenanceDays,
  shownDays,
  type IncidentView,
  type MaintenanceView,
  type PageView,
  type ServiceView,
  type State,
} from './page-view.ts';
import type { StatusPageRow } from '../status-pages/statements.ts';
import { isOver } from '../maintenance/status.ts';
import { durationText, momentText, wordOf } from './words.ts';

/**
 * Renders a status page as HTML, without scripts and without external content except the page's own logo. All texts of
 * users are escaped.
 */

const html = (text: string) => escaped(text, 'html');

const banners: { readonly [S in State]: string } = {
  operational: 'All systems operational',
  maintenance: 'Maintenance is under way',
  minor: 'Minor problems',
  medium: 'Some systems are degraded',
  major: 'Some systems are down',
  critical: 'Major outage',
};
const stateWords: { readonly [S in State]: string } = {
  operational: 'Operational',
  maintenance: 'Under maintenance',
  minor: 'Minor problems',
  medium: 'Degraded',
  major: 'Partial outage',
  critical: 'Major outage',
};

const time = (at: Date | number, timezone = 'UTC') =>
  `<time datetime="${new Date(at).toISOString()}">${html(momentText(at, timezone))}</time>`;

/** The complete document around `main`. */
export function documentHtml(
  page: Pick<
    StatusPageRow,
    'name' | 'url' | 'description' | 'defaultTheme' | 'logo' | 'favicon' | 'redirectTo'
  >,
  { title, main }: { title: string; main: string },
): string {
  const { name, url, description, defaultTheme, logo, favicon, redirectTo } = page;
  const theme = defaultTheme === 'AUTO' ? '' : ` data-theme="${defaultTheme.toLowerCase()}"`;
  const base = `/status/${url}`;
  const image = logo === null ? '' : `<img src="${html(logo)}" alt="" referrerpolicy="no-referrer">`;
  return `<!doctype html>
<html lang="en"${theme}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${html(title)}</title>
${description === null ? '' : `<meta name="description" content="${html(description.slice(0, 300))}">`}
<link rel="icon" href="${favicon === null ? 'data:,' : html(favicon)}">
<link rel="stylesheet" href="/assets/${assetNames().status}">
<link rel="alternate" type="application/atom+xml" title="${html(name)}" href="${base}/feed.atom">
</head>
<body>
<header>
${image}
<h1><a href="${html(redirectTo ?? base)}">${html(name)}</a></h1>
${description === null ? '' : `<p class="lead">${html(description)}</p>`}
</header>
<main>
${main}
</main>
</body>
</html>
`;
}

export function pageHtml(view: PageView, { canSubscribe }: { canSubscribe: boolean }): string {
  const { page, state, cards, open, past, running, scheduled, pastMaintenances, now } = view;
  const [first] = cards;
  const main = [
    `<p class="banner ${state}" role="status"><span class="dot" aria-hidden="true"></span>${banners[state]}</p>`,
    section(
      'Open incidents',
      open.map((incident) => incidentHtml(incident, now)),
    ),
    section('Maintenance under way', running.map(maintenanceHtml)),
    ...cards.map(({ name, services }) =>
      section(
        name,
        services.length === 0 ? [] : [`<ul class="panel">${services.map(serviceHtml).join('')}</ul>`],
      ),
    ),
    first === undefined ? '<p class="empty">This page shows no services yet.</p>' : '',
    section('Scheduled maintenance', scheduled.map(maintenanceHtml)),
    canSubscribe ? subscribeHtml(page.url) : '',
    `<section><h2>Incidents of the past ${shownDays} days</h2>`,
    past.length === 0
      ? '<p class="soft">None.</p>'
      : past.map((incident) => incidentHtml(incident, now)).join('\n'),
    '</section>',
    section(`Maintenance of the past ${pastMaintenanceDays} days`, pastMaintenances.map(maintenanceHtml)),
    `<footer>As of ${time(now)}. <a href="/status/${page.url}/feed.atom">Feed</a></footer>`,
  ].join('\n');
  return documentHtml(page, { title: `${page.name}: ${banners[state]}`, main });
}

const subscribeHtml = (url: string) =>
  `<section><h2>Subscribe by email</h2><form class="subscribe" method="post" action="/status/${url}/subscribe">` +
  '<label for="email">Email address</label>' +
  '<input id="email" name="email" type="email" maxlength="254" autocomplete="email" required>' +
  '<button type="submit">Subscribe</button></form></section>';

const section = (title: string, parts: readonly string[]) =>
  parts.length === 0 ? '' : `<section><h2>${html(title)}</h2>\n${parts.join('\n')}</section>`;

function serviceHtml({ name, state, days }: ServiceView): string {
  return (
    `<li><div class="service"><span>${html(name)}</span><span class="state ${state}">` +
    `<span class="dot" aria-hidden="true"></span>${stateWords[state]}</span></div>${days === null ? '' : daysHtml(days)}</li>`
  );
}

function daysHtml(days: readonly State[]): string {
  const troubled = days.filter((state) => state !== 'operational').length;
  const label =
    troubled === 0
      ? `No incident in the past ${days.length} days`
      : `Incidents on ${troubled} of the past ${days.length} days`;
  const bars = days.map(
    (state, index) => `<rect class="${state}" x="${index * 10}" y="0" width="7" height="26" rx="2"/>`,
  );
  return (
    `<svg class="days" viewBox="0 0 ${days.length * 10 - 3} 26" preserveAspectRatio="none" role="img" aria-label="${label}">` +
    `${bars.join('')}</svg><div class="scale soft" aria-hidden="true"><span>${days.length} days ago</span><span>today</span></div>`
  );
}

const updatesHtml = (
  updates: readonly { status: string; description: string; createdAt: Date }[],
  timezone = 'UTC',
) =>
  `<ol class="updates">${updates
    .map(
      ({ status, description, createdAt }) =>
        `<li><strong>${html(wordOf(status))}</strong> <span class="soft">${time(createdAt, timezone)}</span>` +
        `<p>${html(description)}</p></li>`,
    )
    .join('')}</ol>`;

const foldedHtml: typeof updatesHtml = (updates, timezone) =>
  `<details><summary>Updates (${updates.length})</summary>${updatesHtml(updates, timezone)}</details>`;

const servicesHtml = (services: readonly string[]) =>
  services.length === 0 ? '' : `<p class="soft">Affects: ${html(services.join(', '))}</p>`;

function incidentHtml(
  { name, severity, state, status, startedAt, endedAt, services, updates }: IncidentView,
  now: number,
): string {
  const hasEnded = endedAt !== null && endedAt.getTime() <= now;
  const when =
    endedAt === null
      ? `since ${time(startedAt)}`
      : `${time(startedAt)} to ${time(endedAt)} (${durationText(endedAt.getTime() - startedAt.getTime())})`;
  return (
    `<article class="incident ${state}"><h3>${html(name)}</h3>` +
    `<p class="soft">${html(wordOf(severity))} · ${html(wordOf(status))} · ${when}</p>${servicesHtml(services)}` +
    `${hasEnded ? foldedHtml(updates) : updatesHtml(updates)}</article>`
  );
}

function maintenanceHtml(maintenance: MaintenanceView): string {
  const { name, description, status, startsAt, endsAt, timezone, services, updates } = maintenance;
  const list = isOver(status) ? foldedHtml(updates, timezone) : updatesHtml(updates, timezone);
  return (
    `<article class="incident maintenance"><h3>${html(name)}</h3>` +
    `<p class="soft">${html(wordOf(status))} · ${time(startsAt, timezone)} to ${time(endsAt, timezone)}</p>` +
    `${servicesHtml(services)}${description === null ? '' : `<p>${html(description)}</p>`}` +
    `${updates.length === 0 ? '' : list}</article>`
  );
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
    title: `${page.name}: ${title}`,
    main: `<section><h2>${html(title)}</h2><p>${html(text)}</p>${form}</section>`,
  });
}
