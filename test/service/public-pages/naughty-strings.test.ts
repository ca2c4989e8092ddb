import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { escaped } from '../../../src/templates/escaping.ts';
import { naughtyStrings } from '../../helpers/naughty-strings.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import { hasChromium, startChromium } from '../../helpers/scripts/chromium.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Texts that break programs, in everything that shows them: read by Chromium's parsers of HTML, XML and SVG. */

const texts = naughtyStrings.filter((text) => text.trim() !== '').map((text) => text.slice(0, 200));

let service: TestService;
beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

async function made(path: string, body: Fields): Promise<Fields & { id: string }> {
  const answer = await service.call<Fields & { id: string }>('POST', path, { body });
  expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body;
}

type Element = {
  localName: string;
  getAttributeNames: () => string[];
  getAttribute: (name: string) => string | null;
};
type Parsed = {
  querySelectorAll: (selector: string) => Iterable<Element>;
  documentElement: { textContent: string | null };
};
/** What the page has; these tests are compiled without the types of browsers. */
type PageGlobals = { DOMParser: new () => { parseFromString: (text: string, type: string) => Parsed } };

/** White space and characters that XML and HTML cannot hold are shown as they must be. */
const shownText = (text: string) =>
  // oxlint-disable-next-line no-control-regex -- those characters are the subject
  text.replaceAll(/[\u0000-\u0020\u007f-\u009f\ufffd\ufffe\uffff\p{Z}\p{Surrogate}]+/gu, '');

describe.skipIf(!hasChromium)(hasChromium ? 'in Chromium' : 'no Chromium: skipped', () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await startChromium();
    page = await browser.newPage();
  });
  afterAll(() => browser.close());

  /** What the parser sees: text, names of elements and attributes, parse errors. */
  const parsed = (text: string, type: 'text/html' | 'image/svg+xml' | 'application/xml') =>
    page.evaluate(
      ([source, kind]) => {
        const { DOMParser } = globalThis as unknown as PageGlobals; // runs in the page
        const found = new DOMParser().parseFromString(source, kind);
        const elements = [...found.querySelectorAll('*')];
        return {
          text: found.documentElement.textContent ?? '',
          names: [...new Set(elements.map(({ localName }) => localName))],
          handlers: elements.flatMap((element) =>
            element.getAttributeNames().filter((name) => name.startsWith('on')),
          ),
          links: elements.flatMap((element) => element.getAttribute('href') ?? []),
        };
      },
      [text, type] as const,
    );

  const foreign = ['script', 'iframe', 'object', 'embed', 'form', 'img', 'parsererror', 'base', 'video'];

  test('status pages, feeds and badges show every text and nothing that it asks for', async () => {
    const { id: serviceId } = await made('/v1/status-pages/services', { name: 'Shop' });
    const cards = [{ name: 'Web', services: [{ serviceId }] }];
    await made('/v1/status-pages', { name: 'Acme', url: 'naughty', cards });
    const incident = await made('/v1/status-pages/incidents', {
      name: 'Slow',
      severity: 'MAJOR',
      services: [{ id: serviceId }],
      incidentUpdates: [{ status: 'INVESTIGATING', description: 'Begun.' }],
    });
    // Few incidents with long texts, since a page shows only so many.
    const joined = texts.join(' | ');
    for (let from = 0; from < joined.length; from += 4000) {
      await made(`/v1/status-pages/incidents/${incident.id}/incident-updates`, {
        status: 'MONITORING',
        description: joined.slice(from, from + 4000),
      });
    }
    const wanted = shownText(joined);
    for (const [path, type] of [
      ['/status/naughty', 'text/html'],
      ['/status/naughty/feed.atom', 'application/xml'],
    ] as const) {
      const answer = await fetch(`${service.url}${path}`);
      expect(answer.status).toBe(200);
      const seen = await parsed(await answer.text(), type);
      expect(seen.handlers, path).toEqual([]);
      expect(seen.links.filter((link) => /^\s*javascript:/i.test(link))).toEqual([]);
      expect(seen.names.filter((name) => foreign.includes(name) && name !== 'form')).toEqual([]);
      // Updates are shown newest first: each part by itself.
      const text = shownText(seen.text);
      for (let from = 0; from < joined.length; from += 4000) {
        const part = shownText(joined.slice(from, from + 4000));
        expect(text.includes(part.slice(0, 300)), `${path} ${from}`).toBe(true);
      }
      expect(wanted.length).toBeGreaterThan(10_000);
    }
  });

  test('badges and metrics', async () => {
    const names = texts.filter((_text, index) => index % 8 === 0);
    for (const name of names) {
      const check = await made('/v1/checks/tcp', {
        name,
        activated: false,
        locations: ['eu-west-1'],
        request: { hostname: 'db.example', port: 5432 },
      });
      const badge = await service.call<string>('GET', `/v1/badges/checks/${check.id}`);
      expect(badge.status).toBe(200);
      const seen = await parsed(String(badge.body), 'image/svg+xml');
      expect([seen.handlers, seen.names.filter((each) => foreign.includes(each))], name).toEqual([[], []]);
    }
    // A check has metrics when it has a status.
    await service.db.query(
      `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_started_at)
       select id, account_id, 'failed', true, false, false, now() from checks`,
    );
    const metrics = await service.call<string>('GET', '/v1/metrics');
    const shown = [...parsePrometheus(metrics.body).values()].flatMap(({ samples }) =>
      samples.flatMap(({ labels }) => Object.values(labels)),
    );
    expect(names.filter((name) => !shown.includes(name))).toEqual([]);
  });

  test('the escaping of mails', async () => {
    for (const text of texts) {
      const html = `<p title="${escaped(text, 'html')}">${escaped(text, 'html')}</p>`;
      const seen = await parsed(html, 'text/html');
      expect(shownText(seen.text)).toBe(shownText(text));
      expect([seen.names, seen.handlers]).toEqual([['html', 'head', 'body', 'p'], []]);
    }
  });
});
