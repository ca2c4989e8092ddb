import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { claimTry } from '../../../src/service/alert-channels/sequence-statements.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { Received } from '../../helpers/service/notification-targets.ts';
import { notificationBench, time } from '../../helpers/service/notification-bench.ts';

/** The order of the notifications of one check to one channel, with tries that fail, hang and die. */

const bench = notificationBench();
const { receiver, createChannel, raise, log, allTries } = bench;
const template = '{{ALERT_TYPE}}';

/** A receiver whose first answer is given by the test. */
async function holding() {
  const held: ServerResponse[] = [];
  const target = await receiver((_request: Received, response: ServerResponse) => {
    if (held.length === 0) held.push(response);
    else response.writeHead(204).end();
  });
  const id = await createChannel('WEBHOOK', { url: target.url, template });
  const types = () => target.received.map(({ body }) => body);
  const isHeld = () => expect.poll(() => held.length, { timeout: 8000 }).toBe(1);
  return { id, types, isHeld, answer: (status: number) => held[0]?.writeHead(status).end() };
}

test('a recovery waits for the try of its failure, and replaces it if that fails', async () => {
  const second = bench.createQueue();
  await second.prepare();
  const { id, types, isHeld, answer } = await holding();
  const failure = await raise(id);
  const ticking = bench.background.tick();
  await isHeld();
  const recovery = await raise(id, { alertType: 'ALERT_RECOVERY' });
  // Another check is not held up.
  const other = await raise(id, { checkId: uuidv7(time) });
  const both = Promise.all([second.tick(), bench.background.tick()]);
  await expect.poll(async () => (await log(`&alertId=${other.id}`))[0]?.['status']).toBe('SUCCESS');
  expect(types()).toEqual(['ALERT_FAILURE', 'ALERT_FAILURE']);
  answer(500);
  await Promise.all([ticking, both]);
  await allTries();
  await second.stop();
  // The channel's last word is the state of the check.
  expect(types()).toEqual(['ALERT_FAILURE', 'ALERT_FAILURE', 'ALERT_RECOVERY']);
  expect(await log(`&alertId=${failure.id}`)).toEqual([
    expect.objectContaining({
      status: 'SUPERSEDED',
      attempts: 1,
      notificationResult: 'HTTP 500; not sent again: a newer alert of the same check replaced it',
    }),
  ]);
  expect(await log(`&alertId=${recovery.id}`)).toEqual([expect.objectContaining({ status: 'SUCCESS' })]);
  expect(await log('&status=SUPERSEDED')).toHaveLength(1);
}, 30_000);

test('a recovery follows its failure if the try succeeds', async () => {
  const { id, types, isHeld, answer } = await holding();
  await raise(id);
  const ticking = bench.background.tick();
  await isHeld();
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  answer(200);
  await ticking;
  await allTries();
  expect(types()).toEqual(['ALERT_FAILURE', 'ALERT_RECOVERY']);
  expect((await log()).map(({ status }) => status)).toEqual(['SUCCESS', 'SUCCESS']);
});

test('a failure, reminders and a recovery that wait together are sent in their order', async () => {
  const { id, types, answer, isHeld } = await holding();
  await raise(id);
  await raise(id, { alertType: 'ALERT_FAILURE_REMAIN', isReminder: true, reminderSequence: 1 });
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  const ticking = bench.background.tick();
  await isHeld();
  answer(204);
  await ticking;
  await allTries();
  expect(types()).toEqual(['ALERT_FAILURE', 'ALERT_FAILURE_REMAIN', 'ALERT_RECOVERY']);
});

test('certificates have no order: a failed try is repeated whatever comes after', async () => {
  const { id, types, isHeld, answer } = await holding();
  const ssl = { alertType: 'ALERT_SSL', sslDomain: 'shop.example', sslDaysRemaining: 5 } as const;
  await raise(id, ssl);
  const ticking = bench.background.tick();
  await isHeld();
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  answer(500);
  await ticking;
  await allTries();
  expect(types().filter((type) => type === 'ALERT_SSL')).toHaveLength(2);
});

test('a channel that is down for all tries gets the recovery when it works again', async () => {
  let isDown = true;
  const target = await receiver((_request, response) => response.writeHead(isDown ? 503 : 204).end());
  const id = await createChannel('WEBHOOK', { url: target.url, template });
  await raise(id);
  await allTries();
  isDown = false;
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  await allTries();
  expect(target.received.map(({ body }) => body)).toEqual([
    ...Array.from({ length: 6 }, () => 'ALERT_FAILURE'),
    'ALERT_RECOVERY',
  ]);
  expect((await log()).map(({ status }) => status)).toEqual(['SUCCESS', 'FAILURE']);
});

test('a try has a lease: two replicas never try the same one, and that of a dead replica ends', async () => {
  const id = await createChannel('WEBHOOK', { url: 'http://127.0.0.1:1', template });
  await raise(id);
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  const rows = await bench.db.query<{ id: string; subject: string }>(
    'select id, subject from alert_notifications order by position',
  );
  const claim = (index: number) =>
    claimTry(bench.db, { ...rows[index]!, channelId: id, now: new Date(time) });
  expect(await Promise.all([claim(0), claim(0), claim(1)])).toEqual(
    expect.arrayContaining(['try', 'wait', 'wait']),
  );
  // Its replica was killed: nobody renews the lease.
  await bench.db.query(`update alert_notifications set trying_until = now() - interval '1 second'`);
  expect([await claim(1), await claim(0), await claim(1)]).toEqual(['wait', 'try', 'wait']);
  const [lease] = await bench.db.query<{ seconds: number }>(
    `select extract(epoch from max(trying_until) - now())::float8 as seconds from alert_notifications`,
  );
  expect(lease?.seconds).toBeLessThanOrEqual(20);
  await bench.db.query('delete from alert_notifications');
  await bench.background.tick();
});
