import { dayMs } from '../../durations.ts';
import { documentHtml, html, time } from './document-html.ts';
import {
  pastMaintenanceDays,
  type IncidentView,
  type MaintenanceView,
  type PageView,
  type ServiceView,
} from './page-view.ts';
import { shownDays, type DayState } from './service-days.ts';
import { bannerOf, stateWord } from './states.ts';
import { isOver } from '../maintenance/status.ts';
import { dayText, durationText, wordOf } from './words.ts';

/**
 * Renders a status page as HTML, without scripts and without external content except the page's own logo. All texts of
 * users are escaped.
 */

export function pageHtml(
  view: PageView,
  {
    canSubscribe,
    theme,
  }: { canSubscribe: boolean; /** Address of its colours; absent = the page's own. */ theme?: string },
): string {
  const { page, state, cards, open, past, running, scheduled, pastMaintenances, now } = view;
  const [first] = cards;
  const main = [
    `<p class="banner ${state}" role="status"><span class="dot" aria-hidden="true"></span>${bannerOf(state)}</p>`,
    section(
      'Open incidents',
      open.map((incident) => incidentHtml(incident, now)),
    ),
    section('Maintenance under way', running.map(maintenanceHtml)),
    ...cards.map(({ name, services }) =>
      section(
        name,
        services.length === 0
          ? []
          : [`<ul class="panel">${services.map((service) => serviceHtml(service, now)).join('')}</ul>`],
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
  const title = `${page.title ?? page.name}: ${bannerOf(state)}`;
  return documentHtml(page, { title, main, ...(theme === undefined ? {} : { theme }) });
}

const subscribeHtml = (url: string) =>
  `<section><h2>Subscribe by email</h2><form class="subscribe" method="post" action="/status/${url}/subscribe">` +
  '<label for="email">Email address</label>' +
  '<input id="email" name="email" type="email" maxlength="254" autocomplete="email" required>' +
  '<button type="submit">Subscribe</button></form></section>';

const section = (title: string, parts: readonly string[]) =>
  parts.length === 0 ? '' : `<section><h2>${html(title)}</h2>\n${parts.join('\n')}</section>`;

function serviceHtml({ name, state, word, days, uptime }: ServiceView, now: number): string {
  const percent = uptime === null ? '' : `<span class="uptime">${uptime} % uptime</span>`;
  return (
    `<li><div class="service"><h3>${html(name)}</h3>${percent}<span class="state ${state}">` +
    `<span class="dot" aria-hidden="true"></span>${html(word)}</span></div>${days === null ? '' : daysHtml(days, now)}</li>`
  );
}

function daysHtml(days: readonly DayState[], now: number): string {
  const known = days.filter((state) => state !== null);
  const troubled = known.filter((state) => state !== 'operational').length;
  const past = known.length === 1 ? 'past day' : `past ${known.length} days`;
  const label = troubled === 0 ? `No trouble in the ${past}` : `Trouble on ${troubled} of the ${past}`;
  const today = Math.floor(now / dayMs) * dayMs;
  const bars = days.map((state, index) => {
    const day = dayText(today - (days.length - 1 - index) * dayMs);
    const word = state === null ? 'not known' : stateWord(state);
    return `<rect class="${state ?? 'unknown'}" x="${index * 10}" y="0" width="7" height="30" rx="2"><title>${day}: ${word}</title></rect>`;
  });
  return (
    `<svg class="days" viewBox="0 0 ${days.length * 10 - 3} 30" preserveAspectRatio="none" role="img" aria-label="${label}">` +
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
