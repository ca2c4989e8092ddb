import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import PostalMime from 'postal-mime';
import { readNotificationConfig } from '../../../src/config/notifications.ts';
import { buildApp } from '../../../src/service/app.ts';
import { createBackground } from '../../../src/service/engine/background.ts';
import { readPublicPages } from '../../../src/config/public-pages.ts';
import { countedAddress } from '../../../src/service/http/address-limit.ts';
import { createEncryption } from '../../../src/service/engine/encryption.ts';
import { handleMaintenanceEvents } from '../../../src/service/maintenance/events.ts';
import { createMailer } from '../../../src/service/notifications/email.ts';
import {
  handleSubscriberMails,
  mailMaintenanceEvents,
} from '../../../src/service/public-pages/subscriber-mails.ts';
import { mailAddress } from '../../../src/service/public-pages/subscriptions.ts';
import { createClock, silent } from '../../helpers/service/agent-service.ts';
import { startMailServer, type MailServer } from '../../helpers/service/notification-targets.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Public status pages, and mails to their subscribers. */

const start = '2026-03-04T05:06:07.000Z';
const hour = 3_600_000;
const hostile = `</title><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;`;

describe('status pages in public', () => {
  const clock = createClock(start);
  let service: TestService;
  let mailServer: MailServer;
  /** In mails; null = where the service listens. */
  let publicBase: string | null = null;

  beforeAll(async () => {
    const db = await anyDatabase.open();
    const background = createBackground({ db, log: silent });
    const encryption = createEncryption('a key for tests alone');
    mailServer = await startMailServer();
    const publicUrl = () => publicBase ?? service.url;
    const sendMail = createMailer(readNotificationConfig({ SMTP_URL: mailServer.url }), publicUrl);
    handleSubscriberMails(background, {
      db,
      encryption,
      log: silent,
      now: clock.now,
      publicUrl,
      sendMail,
      retryDelaySeconds: 1,
      orderMs: 0,
    });
    handleMaintenanceEvents(background, {
      db,
      now: clock.now,
      followers: [mailMaintenanceEvents(background, clock)],
    });
    await background.prepare();
    service = await startTestService(db, { now: clock.now, background, encryption });
  });
  beforeEach(async () => {
    clock.set(start);
    // Mails that another test has left in the queue are none of this one's.
    await service.background.tick();
    mailServer.mails.length = 0;
  });
  afterAll(async () => {
    await service.close();
    await service.background.stop();
    await mailServer.close();
    await anyDatabase.close();
  });

  async function made(path: string, body: Fields): Promise<Fields & { id: string }> {
    const answer = await service.call<Fields & { id: string }>('POST', path, { body });
    expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
    return answer.body;
  }
  async function addPage(url: string, rest: Fields = {}, serviceName = 'Shop') {
    const { id: serviceId } = await made('/v1/status-pages/services', { name: serviceName });
    const cards = [{ name: 'Web', services: [{ serviceId }] }];
    const page = await made('/v1/status-pages', { name: 'Acme', url, cards, ...rest });
    return { pageId: page.id, serviceId };
  }
  const openIncident = (serviceId: string, rest: Fields = {}, update: Fields = {}) =>
    made('/v1/status-pages/incidents', {
      name: 'Checkout fails',
      severity: 'MAJOR',
      services: [{ id: serviceId }],
      incidentUpdates: [{ status: 'INVESTIGATING', description: 'We look into it.', ...update }],
      ...rest,
    });
  async function read(path: string, init: RequestInit = {}) {
    const answer = await fetch(`${service.url}${path}`, init);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
  const post = (path: string, fields: Record<string, string>) =>
    read(path, { method: 'POST', body: new URLSearchParams(fields) });
  /** What has come by mail since the last time that this was asked. */
  const received = async () =>
    Promise.all(
      mailServer.mails.splice(0).map(async ({ to, raw }) => {
        const { subject = '', text = '', html = '', headers } = await PostalMime.parse(raw);
        const ends = headers.filter(({ key }) => key.startsWith('list-unsubscribe'));
        return {
          to,
          subject,
          text,
          html,
          ends: Object.fromEntries(ends.map(({ key, value }) => [key, value])),
        };
      }),
    );
  const textOf = (html: string) =>
    html
      .replaceAll(/<svg.*?<\/svg>/gs, ' ')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ');

  test('services and their state, open and past incidents, in HTML without scripts', async () => {
    const { serviceId } = await addPage('acme', { description: 'How we are', defaultTheme: 'DARK' });
    const calm = await read('/status/acme');
    expect([calm.status, calm.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(calm.headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'self'");
    expect(calm.text).toContain('<html lang="en" data-theme="dark">');
    expect(calm.text).not.toMatch(/<script|<style|style=/);
    expect(textOf(calm.text)).toMatch(/All systems operational Web Shop Operational/);
    expect(calm.text).toContain('aria-label="No trouble in the past day"');

    const incident = await openIncident(serviceId);
    const troubled = await read('/status/acme');
    expect(textOf(troubled.text)).toMatch(
      /Some systems are down Open incidents Checkout fails Major · Investigating · since 4 Mar 2026, 05:06 UTC Affects: Shop Investigating .* We look into it\. Web Shop Partial outage/,
    );
    clock.advance(26 * hour);
    await made(`/v1/status-pages/incidents/${incident.id}/incident-updates`, {
      status: 'RESOLVED',
      description: 'Over.',
    });
    const over = await read('/status/acme');
    expect(textOf(over.text)).toMatch(
      /All systems operational .* past 90 days Checkout fails Major · Resolved · .* \(1 d 2 h\) Affects: Shop Updates \(2\) Resolved .* Over\. Investigating/,
    );
    expect(over.text).toContain('aria-label="Trouble on 2 of the past 2 days"');
    const feed = await read('/status/acme/feed.atom');
    // Caches keep it: nothing in it comes from the Host header.
    expect(feed.text).not.toContain(new URL(service.url).host);
    expect(feed.text).toContain('<link rel="self" href="/status/acme/feed.atom"/>');
    expect(feed.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8');
    expect([...feed.text.matchAll(/<title>(.*?)<\/title>/g)].map(([, title]) => title)).toEqual([
      'Acme',
      'Resolved: Checkout fails',
      'Investigating: Checkout fails',
    ]);
    clock.advance(91 * 24 * hour);
    expect(textOf((await read('/status/acme')).text)).toContain('past 90 days None.');
    const [, style = ''] = /<link rel="stylesheet" href="([^"]*)"/.exec(calm.text) ?? [];
    expect((await read(style)).status).toBe(200);
    for (const path of ['/status/none', '/status/Acme', '/status/..%2f', '/status/none/feed.atom']) {
      expect((await read(path)).status, path).toBe(404);
    }
  });

  test('user texts are escaped', async () => {
    const { serviceId, pageId } = await addPage(
      'hostile',
      { name: hostile, description: hostile, logo: 'https://img.example/l.png?a=1&b=2' },
      hostile,
    );
    await openIncident(serviceId, { name: hostile }, { description: hostile });
    await made('/v1/incidents', {
      name: hostile,
      severity: 'MINOR',
      dashboardId: pageId,
      incidentUpdates: [{ status: 'MONITORING', description: `${hostile}\u0001` }],
    });
    await made('/v1/maintenance-windows', {
      name: hostile,
      description: hostile,
      startsAt: '2026-03-04T05:00:00Z',
      endsAt: '2026-03-04T06:00:00Z',
      statusPageVisibility: { enabled: true, affectAllServices: true, statusPageIds: [pageId] },
    });
    const page = await read('/status/hostile');
    const feed = await read('/status/hostile/feed.atom');
    for (const { status, text } of [page, feed]) {
      expect(status).toBe(200);
      expect(text).not.toMatch(/<script|<img src=x|onerror='/);
      expect(text).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
    }
    expect(feed.text).not.toContain('\u0001');
    expect(page.text).toContain('<img src="https://img.example/l.png?a=1&amp;b=2"');
    expect(textOf(page.text)).toContain('Maintenance under way');
  });

  test('maintenances are shown on their pages, with the affected services', async () => {
    const shown = await addPage('with-maintenance');
    await addPage('without');
    const window = (name: string, day: string, rest: Fields) =>
      made('/v1/maintenance-windows', {
        name,
        startsAt: `${day}T05:00:00Z`,
        endsAt: `${day}T07:00:00Z`,
        statusPageVisibility: { enabled: true, statusPageIds: [shown.pageId], ...rest },
      });
    await window('Now', '2026-03-04', { serviceIds: [shown.serviceId] });
    await window('Next week', '2026-03-11', { affectAllServices: true });
    await window('Hidden', '2026-03-11', { enabled: false });
    const text = textOf((await read('/status/with-maintenance')).text);
    expect(text).toMatch(
      /Maintenance is under way Maintenance under way Now In progress .* Affects: Shop Web Shop Under maintenance .* Scheduled maintenance Next week Scheduled/,
    );
    expect(text).not.toContain('Hidden');
    expect(textOf((await read('/status/without')).text)).not.toMatch(/Now In progress|Next week/);
  });

  test('past maintenances are in the history, with their updates', async () => {
    const { pageId } = await addPage('history');
    for (const [name, day] of [
      ['Long ago', '2026-01-10'],
      ['Last month', '2026-02-10'],
      ['Of late', '2026-03-03'],
    ]) {
      await made('/v1/maintenance-windows', {
        name,
        startsAt: `${day}T05:00:00Z`,
        endsAt: `${day}T07:00:00Z`,
        statusPageVisibility: { enabled: true, affectAllServices: true, statusPageIds: [pageId] },
      });
    }
    const text = textOf((await read('/status/history')).text);
    expect(text).toMatch(
      /All systems operational .* Maintenance of the past 30 days Of late Completed · .* Last month Completed/,
    );
    expect(text).not.toMatch(/Long ago|Scheduled maintenance/);
  });

  test('a replica reads a page once in three seconds, and answers an address so often', async () => {
    const { serviceId } = await addPage('busy');
    const publicPages = { perMinute: 6, cacheMs: 3000 };
    const { db, background, encryption } = service;
    const deps = { db, background, encryption, now: clock.now, publicPages };
    const app = await buildApp(deps, { trustedProxies: ['127.0.0.1'] });
    const plain = await buildApp(deps);
    const get = (from: string, at = app) =>
      at.inject({ url: '/status/busy', headers: { 'x-forwarded-for': from } });
    try {
      expect((await get('192.0.2.1')).body).toContain('All systems operational');
      await openIncident(serviceId);
      expect((await get('192.0.2.1')).body).toContain('All systems operational');
      clock.advance(3000);
      const both = await Promise.all([get('192.0.2.1'), get('192.0.2.1')]);
      for (const { body } of both) expect(body).toContain('Some systems are down');
      expect((await app.inject({ url: '/status/busy/feed.atom' })).body).toContain('Checkout fails');

      expect([(await get('192.0.2.1')).statusCode, (await get('192.0.2.1')).statusCode]).toEqual([200, 200]);
      const refused = await get('192.0.2.1');
      expect(refused.statusCode).toBe(429);
      const seconds = Number(refused.headers['retry-after']);
      expect([seconds >= 1, seconds <= 60]).toEqual([true, true]);
      expect((await get('192.0.2.2')).statusCode).toBe(200);
      // The header is trusted only if that is configured.
      for (let time = 0; time < 6; time++) expect((await get(`192.0.2.${time}`, plain)).statusCode).toBe(200);
      expect((await get('192.0.2.9', plain)).statusCode).toBe(429);
      clock.advance(60_000);
      expect((await get('192.0.2.9', plain)).statusCode).toBe(200);
    } finally {
      await app.close();
      await plain.close();
    }
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3::4', '32.1.13.184.0.1.0.2'],
    ['2001:db8:1:2::', '32.1.13.184.0.1.0.2'],
    ['nonsense', 'nonsense'],
  ])('%s counts as %s', (address, counted) => expect(countedAddress(address)).toBe(counted));

  test('proxies that are trusted are addresses and networks', () => {
    expect(readPublicPages({})).toEqual({ perMinute: 300, cacheMs: 3000, trustedProxies: [] });
    const set = { SERVICE_TRUSTED_PROXIES: '10.0.0.5, fd00::/8', SERVICE_PUBLIC_RATE_LIMIT: '0' };
    expect(readPublicPages(set)).toMatchObject({ perMinute: 0, trustedProxies: ['10.0.0.5', 'fd00::/8'] });
    for (const wrong of ['proxy.example', '1', 'true', '10/8', '10.0.0.0/33']) {
      expect(() => readPublicPages({ SERVICE_TRUSTED_PROXIES: wrong })).toThrow(
        `SERVICE_TRUSTED_PROXIES must be addresses and networks, like "10.0.0.5, 10.1.0.0/16", but has "${wrong}"`,
      );
    }
  });

  test('a private page is for keys of its account; a custom domain shows its page at /', async () => {
    await addPage('secret', { isPrivate: true, name: 'Hidden name' });
    // Not even by links that are of no use.
    for (const method of ['GET', 'POST']) {
      for (const link of ['confirm?token=x', 'unsubscribe?token=x']) {
        const guessed = await read(`/status/secret/${link}`, { method });
        expect(guessed.status).toBe(401);
        expect(guessed.text).not.toContain('Hidden name');
      }
    }
    const basic = (key: string) => ({
      headers: { authorization: `Basic ${Buffer.from(`me:${key}`).toString('base64')}` },
    });
    for (const path of ['/status/secret', '/status/secret/feed.atom']) {
      const refused = await read(path);
      expect([refused.status, refused.headers.get('www-authenticate')?.slice(0, 5)]).toEqual([401, 'Basic']);
      expect((await read(path, basic(service.foreign.key))).status).toBe(401);
      expect((await read(path, basic('wrong'))).status).toBe(401);
      expect((await read(path, basic(service.account.key))).status).toBe(200);
      const bearer = { headers: { authorization: `Bearer ${service.account.key}` } };
      const shown = await read(path, bearer);
      expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'private, no-cache']);
    }
    await addPage('domain', { customDomain: 'status.acme.example', name: 'Of the domain' });
    const at = (host: string) =>
      new Promise<string>((resolve, reject) => {
        request(`${service.url}/`, { headers: { host } }, (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (part: string) => (text += part));
          answer.on('end', () => resolve(text));
        })
          .on('error', reject)
          .end();
      });
    expect(await at('status.acme.example')).toContain('Of the domain');
    expect(await at('other.acme.example')).toContain('<title>Checks</title>');
  });

  test('subscribers get no mail before they confirm and none after they unsubscribe', async () => {
    const { serviceId, pageId } = await addPage('mail');
    const path = '/status/mail';
    const asked = await post(`${path}/subscribe`, { email: ' Ann@Example.com ' });
    expect([asked.status, textOf(asked.text)]).toEqual([200, expect.stringContaining('One more step')]);
    const again = await post(`${path}/subscribe`, { email: 'ann@example.com' });
    expect(again.text).toBe(asked.text);
    await service.background.tick();
    const [asking, ...others] = await received();
    expect([asking?.to, others]).toEqual([['ann@example.com'], []]);
    const incident = await openIncident(serviceId, {}, { notifySubscribers: true });
    await service.background.tick();
    expect(await received()).toEqual([]);

    const linkOf = (text: string | undefined, path: string) =>
      new RegExp(`http\\S+/${path}\\?token=\\S+`).exec(text ?? '')?.[0].replace(service.url, '') ?? '';
    const link = linkOf(asking?.text, 'confirm');
    const ask = await read(link);
    expect([ask.status, textOf(ask.text)]).toEqual([200, expect.stringContaining('Yes, subscribe')]);
    const subscriptions = `/v1/status-pages/${pageId}/subscriptions`;
    const confirmedAt = async () =>
      (await service.call<{ entries: Fields[] }>('GET', subscriptions)).body.entries.map(
        (entry) => entry['confirmedAt'],
      );
    expect(await confirmedAt()).toEqual([null]);
    const token = new URLSearchParams(link.split('?')[1]).get('token') ?? '';
    await addPage('other-page');
    expect((await post('/status/other-page/confirm', { token })).status).toBe(404);
    expect((await post(`${path}/confirm`, { token: `${token.slice(1)}A` })).status).toBe(404);
    expect((await post(`${path}/confirm`, { token })).status).toBe(200);
    expect(await confirmedAt()).toEqual([start]);

    const update = (notifySubscribers: boolean) =>
      made(`/v1/status-pages/incidents/${incident.id}/incident-updates`, {
        status: 'IDENTIFIED',
        description: `Found <it>: ${notifySubscribers}`,
        notifySubscribers,
      });
    mailServer.refuseWith(450);
    await update(true);
    await update(false);
    await service.background.tick();
    mailServer.refuseWith(null);
    const arrived = async () => {
      await service.background.tick();
      return mailServer.mails.length;
    };
    await expect.poll(arrived, { timeout: 20_000, interval: 200 }).toBe(1);
    const [news, ...more] = await received();
    expect(more).toEqual([]);
    expect(news).toMatchObject({
      to: ['ann@example.com'],
      subject: '[Acme] Identified: Checkout fails',
      text: expect.stringContaining('Found <it>: true') as string,
      html: expect.stringContaining('Found &lt;it&gt;: true') as string,
    });

    const window = await made('/v1/maintenance-windows', {
      name: 'Upgrade',
      startsAt: '2026-03-04T05:10:00Z',
      endsAt: '2026-03-04T06:00:00Z',
      statusPageVisibility: { enabled: true, statusPageIds: [pageId], notifyOnStart: true },
    });
    const occurrences = `/v1/maintenance-windows/${window.id}/occurrences`;
    const [occurrence] = (await service.call<{ id: string }[]>('GET', occurrences)).body;
    await service.call('POST', `${occurrences}/${occurrence?.id}/cancel`, {
      body: { notifySubscribers: true },
    });
    // One passes it on, and one sends the mail.
    await service.background.tick();
    await service.background.tick();
    expect((await received()).map(({ subject }) => subject)).toEqual([
      '[Acme] Maintenance is cancelled: Upgrade',
    ]);

    const stop = linkOf(news?.text, 'unsubscribe');
    // Without TLS a mail program does not unsubscribe by itself.
    expect(news?.ends).toEqual({ 'list-unsubscribe': `<${service.url}${stop}>` });
    publicBase = 'https://status.example';
    await update(true);
    await service.background.tick();
    const [secure] = await received();
    publicBase = null;
    expect(secure?.ends).toEqual({
      'list-unsubscribe': `<https://status.example${stop}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    });
    expect((await read(stop)).status).toBe(200);
    expect((await post(stop, { other: 'One-Click' })).status).toBe(404);
    expect((await read(stop, { method: 'POST', body: new FormData() })).status).toBe(404);
    expect(await confirmedAt()).toEqual([start]);
    const oneClick = new FormData();
    oneClick.set('List-Unsubscribe', 'One-Click');
    expect((await read(stop, { method: 'POST', body: oneClick })).status).toBe(200);
    expect(await confirmedAt()).toEqual([]);
    expect((await read(stop)).status).toBe(404);
    expect((await post(stop, { 'List-Unsubscribe': 'One-Click' })).status).toBe(404);
    expect((await post(`${path}/unsubscribe`, { token })).status).toBe(404);
    await update(true);
    await service.background.tick();
    expect(await received()).toEqual([]);
  });

  test('subscriptions of a page through the API; addresses that are none; too many at once', async () => {
    const { pageId } = await addPage('api-mail');
    const path = `/v1/status-pages/${pageId}/subscriptions`;
    const added = await made(path, { email: 'Bob@example.com' });
    expect(added).toEqual({
      id: added.id,
      statusPageId: pageId,
      email: 'bob@example.com',
      confirmedAt: null,
      created_at: start,
    });
    expect((await made(path, { email: 'bob@example.com' })).id).toBe(added.id);
    expect((await service.call('GET', `${path}/${added.id}`)).body).toEqual(added);
    expect((await service.call('POST', path, { body: { email: 'x' } })).status).toBe(400);
    expect((await service.call('GET', path, { key: service.foreign.key })).status).toBe(404);
    expect((await service.call('DELETE', `${path}/${added.id}`)).status).toBe(204);
    expect((await service.call('DELETE', `${path}/${added.id}`)).status).toBe(404);
    for (const bad of [
      '',
      'x',
      'a@b@c',
      'a b@c.d',
      'a@c.d\r\nbcc: x@y.z',
      '<a@c.d>',
      `${'a'.repeat(65)}@c.d`,
    ]) {
      expect(mailAddress(bad), bad).toBe(null);
    }
    expect((await post('/status/api-mail/subscribe', { email: 'a@c.d\r\nbcc: x@y.z' })).status).toBe(400);
    const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    expect((await read('/status/api-mail/subscribe', json)).status).toBe(415);
    const statuses = [];
    for (let index = 0; index < 31; index += 1) {
      statuses.push((await post('/status/api-mail/subscribe', { email: `a${index}@example.com` })).status);
    }
    expect([statuses.filter((status) => status === 200).length, statuses.at(-1)]).toEqual([30, 429]);
  });

  test('without a mail server, no page offers mail', async () => {
    const { pageId } = await addPage('no-mail');
    const { db, background, encryption, account } = service;
    const app = await buildApp({ db, background, encryption, now: clock.now, canMail: false });
    const page = await app.inject('/status/no-mail');
    expect([page.statusCode, page.payload.includes('<form')]).toEqual([200, false]);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const payload = 'email=a%40example.com';
    const url = '/status/no-mail/subscribe';
    const asked = await app.inject({ method: 'POST', url, headers: form, payload });
    expect(asked.statusCode).toBe(404);
    const added = await app.inject({
      method: 'POST',
      url: `/v1/status-pages/${pageId}/subscriptions`,
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      payload: '{"email":"a@example.com"}',
    });
    expect([added.statusCode, added.json()]).toEqual([
      409,
      {
        ...statusFields(409),
        message: expect.stringContaining('SMTP_URL') as string,
        attributes: { email: ['cannot be confirmed, because SMTP_URL of the service is not set'] },
      },
    ]);
    await app.close();
  });
});
