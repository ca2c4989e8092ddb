import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { handleMaintenanceEvents } from '../../../src/service/maintenance/events.ts';
import type { Mail } from '../../../src/service/notifications/mail.ts';
import {
  handleSubscriberMails,
  mailMaintenanceEvents,
} from '../../../src/service/public-pages/subscriber-mails.ts';
import { encryption, silent } from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** The order in which a subscriber gets the mails of one incident or maintenance, with tries that fail and hang. */

const time = Date.parse('2026-03-04T05:06:07.000Z');
let db: Db;
let background: Background;
let service: TestService;
let pageId: string;
let serviceId: string;
/** Subjects of delivered mails. */
const delivered: string[] = [];
/** What a mail server does with the next mails. */
let refuses: (mail: Mail) => boolean | Promise<boolean> = () => false;

let clock = time;
/** What is done later is later. */
const now = () => (clock += 1);

function createQueue(): Background {
  const queue = createBackground({ db, log: silent });
  handleSubscriberMails(queue, {
    db,
    encryption,
    log: silent,
    now,
    publicUrl: () => 'https://status.example',
    // No retry is due before a test says so.
    retryDelaySeconds: 3600,
    orderMs: 0,
    sendMail: async (mail) => {
      if (await refuses(mail)) return { delivered: false, retry: true, result: '450' };
      delivered.push(mail.subject);
      return { delivered: true, result: '250' };
    },
  });
  handleMaintenanceEvents(queue, { db, now, followers: [mailMaintenanceEvents(queue, { now })] });
  return queue;
}

async function made(path: string, body: Fields, method = 'POST'): Promise<Fields & { id: string }> {
  const answer = await service.call<Fields & { id: string }>(method, path, { body });
  expect([200, 201, 204], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body;
}

beforeAll(async () => {
  db = await anyDatabase.open();
  background = createQueue();
  await background.prepare();
  service = await startTestService(db, { now, background, encryption });
  serviceId = (await made('/v1/status-pages/services', { name: 'Shop' })).id;
  const cards = [{ name: 'Web', services: [{ serviceId }] }];
  pageId = (await made('/v1/status-pages', { name: 'Acme', url: 'order', cards })).id;
  await made(`/v1/status-pages/${pageId}/subscriptions`, { email: 'ann@shop.example' });
  await db.query('update status_page_subscribers set confirmed_at = now()');
});
afterAll(async () => {
  await service.close();
  await background.stop();
  await anyDatabase.close();
});
beforeEach(async () => {
  refuses = () => false;
  await background.tick();
  delivered.length = 0;
});

const openIncident = () =>
  made('/v1/status-pages/incidents', {
    name: 'Slow',
    severity: 'MAJOR',
    services: [{ id: serviceId }],
    incidentUpdates: [{ status: 'INVESTIGATING', description: 'We look.', notifySubscribers: true }],
  });
const update = (id: string, status: string) =>
  made(`/v1/status-pages/incidents/${id}/incident-updates`, {
    status,
    description: 'News.',
    notifySubscribers: true,
  });
/** Queue items of this queue wait, or are due. */
const postpone = (queue: string) =>
  db.query(`update background.job set start_after = now() + interval '1 hour' where name = $1`, [queue]);
const allDue = () =>
  db.query(`update background.job set start_after = now() - interval '1 second' where state < 'active'`);
const waiting = async () => (await db.query('select 1 from subscriber_mails')).length;

test('a failed mail about an incident is not sent after a newer one', async () => {
  refuses = () => true;
  const { id } = await openIncident();
  await background.tick();
  refuses = () => false;
  await update(id, 'RESOLVED');
  await background.tick();
  expect(delivered).toEqual(['[Acme] Resolved: Slow']);
  await allDue();
  await background.tick();
  expect(delivered).toEqual(['[Acme] Resolved: Slow']);
  expect(await waiting()).toBe(0);
});

test('a failed mail is sent again if nothing newer exists; other incidents do not wait for it', async () => {
  refuses = ({ subject }) => subject.includes('Investigating');
  await openIncident();
  await background.tick();
  const other = await openIncident();
  await update(other.id, 'MONITORING');
  await background.tick();
  expect(delivered).toEqual(['[Acme] Monitoring: Slow']);
  refuses = () => false;
  await allDue();
  await background.tick();
  expect(delivered).toEqual(['[Acme] Monitoring: Slow', '[Acme] Investigating: Slow']);
  expect(await waiting()).toBe(0);
});

test('updates whose messages are queued late go out in the order in which they were written', async () => {
  const { id } = await openIncident();
  await postpone('incident-messages');
  await update(id, 'RESOLVED');
  await background.tick();
  await allDue();
  await background.tick();
  expect(delivered).toEqual(['[Acme] Investigating: Slow', '[Acme] Resolved: Slow']);
});

test('a mail waits for the try of an older one in another replica', async () => {
  const second = createQueue();
  await second.prepare();
  let isHeld = false;
  let answer: (isRefused: boolean) => void = () => undefined;
  refuses = ({ subject }) => {
    if (!subject.includes('Investigating')) return false;
    isHeld = true;
    return new Promise((resolve) => (answer = resolve));
  };
  const { id } = await openIncident();
  const ticking = background.tick();
  await expect.poll(() => isHeld, { timeout: 8000 }).toBe(true);
  await update(id, 'IDENTIFIED');
  await update(id, 'RESOLVED');
  const others = second.tick();
  await expect.poll(waiting, { timeout: 8000 }).toBe(3);
  expect(delivered).toEqual([]);
  answer(true);
  await Promise.all([ticking, others]);
  await allDue();
  await background.tick();
  await second.stop();
  expect(delivered).toEqual(['[Acme] Identified: Slow', '[Acme] Resolved: Slow']);
}, 30_000);

test('a mail is given up after five retries', async () => {
  let tries = 0;
  refuses = () => (tries += 1) > 0;
  await openIncident();
  for (let round = 0; round < 8; round++) {
    await background.tick();
    await allDue();
  }
  expect([tries, await waiting()]).toEqual([6, 0]);
});

test('a failed mail about a maintenance is not sent after a newer one', async () => {
  const window = await made('/v1/maintenance-windows', {
    name: 'Upgrade',
    startsAt: '2026-03-04T05:10:00Z',
    endsAt: '2026-03-04T06:00:00Z',
    statusPageVisibility: { enabled: true, statusPageIds: [pageId], notifyOnStart: true },
  });
  const occurrences = `/v1/maintenance-windows/${window.id}/occurrences`;
  const [occurrence] = (await service.call<{ id: string }[]>('GET', occurrences)).body;
  const path = `${occurrences}/${occurrence?.id}`;
  refuses = () => true;
  await made(`${path}/updates`, { status: 'SCHEDULED', description: 'Soon.', notifySubscribers: true });
  await background.tick();
  await background.tick();
  refuses = () => false;
  // Its event is handled late.
  await made(`${path}/updates`, { status: 'SCHEDULED', description: 'Later.', notifySubscribers: true });
  await postpone('maintenance-events');
  await service.call('POST', `${path}/cancel`, { body: { notifySubscribers: true } });
  for (let round = 0; round < 3; round++) {
    await background.tick();
    await allDue();
  }
  expect(delivered).toEqual(['[Acme] Maintenance: Upgrade', '[Acme] Maintenance is cancelled: Upgrade']);
  expect(await waiting()).toBe(0);
});
