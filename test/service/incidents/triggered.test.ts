import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { deleteService, insertService } from '../../../src/service/status-pages/service-statements.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  openTriggeredIncident,
  resolveTriggeredIncident,
  triggeredIncidents,
} from '../../../src/service/incidents/triggered.ts';
import { addUpdate } from '../../../src/service/incidents/updates.ts';
import { incidentMessagesQueue } from '../../../src/service/incidents/messages.ts';
import { notificationsQueue } from '../../../src/service/alert-channels/queue.ts';
import { addAccount, addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import { createAlertReplica, endRuns, type Status } from '../../helpers/service/alert-runs.ts';
import { databases } from '../../helpers/service/database.ts';

/** Incidents that checks open and resolve, through the runs that alerting follows. */

const start = Date.parse('2026-03-01T12:00:00Z');

describe.each(databases)('triggered incidents ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const clock = createClock(start);
    const told: string[] = [];
    let db: Db;
    let background: Background;
    let accountId = '';
    let serviceId = '';

    beforeAll(async () => {
      db = await database.open();
      background = createBackground({ db, log: silent });
      const queue = { retryLimit: 0, retryDelaySeconds: 0, expireSeconds: 60, concurrency: 1 };
      background.handle({ name: notificationsQueue, ...queue }, async () => undefined);
      background.handle<{ updateId: string }>(
        { name: incidentMessagesQueue, ...queue },
        async ({ updateId }) => {
          told.push(updateId);
        },
      );
      await background.prepare();
    });
    beforeEach(async () => {
      clock.set(start);
      told.length = 0;
      accountId = await addAccount(db);
      serviceId = await addService(accountId);
    });
    afterAll(async () => {
      await background.stop();
      await database.close();
    });

    async function addService(of: string): Promise<string> {
      const id = uuidv7();
      await insertService(db, { id, accountId: of, name: 'Shop', now: new Date(start) });
      return id;
    }
    const check = (trigger: object = {}) =>
      addCheck(db, {
        accountId,
        now: start,
        definition: {
          triggerIncident: { serviceId, name: 'Shop is down', description: 'No answer.', ...trigger },
        },
      });
    async function end(checkId: string, ...statuses: Status[]) {
      const replica = createAlertReplica(db, {
        background,
        clock,
        incidents: triggeredIncidents(background),
      });
      for (const status of statuses) {
        clock.advance(1000);
        await endRuns(db, [{ checkId, accountId, at: clock.now(), parts: [{ status }] }]);
        await replica.follow();
      }
    }
    /** Oldest first: name, severity, statuses of the updates, whether a check is still followed. */
    async function incidents(): Promise<unknown[]> {
      const rows = await db.query<{ name: string; severity: string; updates: string[]; followed: boolean }>(
        `select i.name, i.severity, i.followed_check_id is not null as followed,
           array(select u.status from status_page_incident_updates u where u.incident_id = i.id order by u.position) as updates
         from status_page_incidents i where i.account_id = $1 order by i.created_at, i.id`,
        [accountId],
      );
      return rows.map(({ name, severity, updates, followed }) => [
        `${name} ${severity}`,
        updates.join(' '),
        followed,
      ]);
    }

    test('one incident for each time that the check fails, resolved with its recovery', async () => {
      const id = await check();
      await end(id, 'passed', 'failed', 'failed', 'degraded', 'failed');
      expect(await incidents()).toEqual([['Shop is down MAJOR', 'INVESTIGATING', true]]);
      const open = await db.query(
        'select description from status_page_incident_updates u order by position desc limit 1',
      );
      expect(open).toEqual([{ description: 'No answer.' }]);
      await end(id, 'passed', 'passed');
      expect(await incidents()).toEqual([['Shop is down MAJOR', 'INVESTIGATING RESOLVED', false]]);
      await end(id, 'failed');
      expect(await incidents()).toEqual([
        ['Shop is down MAJOR', 'INVESTIGATING RESOLVED', false],
        ['Shop is down MAJOR', 'INVESTIGATING', true],
      ]);
      await background.tick();
      expect(told).toEqual([]);
    });

    test('severity and subscriber notifications follow the check, at the start and at the end', async () => {
      const id = await check({ severity: 'CRITICAL', notifySubscribers: true });
      await end(id, 'failed', 'passed');
      expect(await incidents()).toEqual([['Shop is down CRITICAL', 'INVESTIGATING RESOLVED', false]]);
      await background.tick();
      expect(told).toHaveLength(2);
    });

    test('windows that suppress incidents keep theirs from being opened; cancelled and errored runs open none', async () => {
      const visibility = {
        enabled: true,
        suppressAutoIncidents: true,
        affectAllServices: false,
        serviceIds: [serviceId],
      };
      await db.query(
        `insert into maintenance_windows (account_id, name, starts_at, ends_at, over_at, timezone, pause_all_checks, tags,
           silence_all_alerts, silence_alerts_tags, status_page_visibility, steps_done_until)
         values ($1, 'Window', $2, $3, $3, 'UTC', false, '{}', false, '{}', $4::jsonb, $2)`,
        [accountId, new Date(start), new Date(start + 10_000), JSON.stringify(visibility)],
      );
      const id = await check();
      const other = await check({ serviceId: await addService(accountId), name: 'Other' });
      await end(id, 'failed');
      await end(other, 'cancelled', 'errored');
      expect(await incidents()).toEqual([]);
      await end(other, 'failed');
      expect(await incidents()).toEqual([['Other MAJOR', 'INVESTIGATING', true]]);
      clock.advance(20_000);
      await end(id, 'passed', 'failed');
      expect(await incidents()).toHaveLength(2);
    });

    test('a missing service, or one of another account, opens no incident and causes no error', async () => {
      const foreign = await addService(await addAccount(db));
      for (const trigger of [{ serviceId: foreign }, { serviceId: uuidv7() }, { serviceId: 'shop' }]) {
        await end(await check(trigger), 'failed', 'passed');
      }
      expect(await incidents()).toEqual([]);
      const id = await check();
      await end(id, 'failed');
      await db.tx((tx) => deleteService(tx, { accountId, id: serviceId }));
      await end(id, 'passed', 'failed');
      expect(await incidents()).toEqual([['Shop is down MAJOR', 'INVESTIGATING RESOLVED', false]]);
    });

    test('two calls open one incident; a resolved one stays resolved; a deleted check leaves its incident', async () => {
      const id = await check();
      const trigger = { serviceId, name: 'Down' };
      const open = (alertId: string) =>
        db.tx((tx) =>
          openTriggeredIncident(tx, background, {
            accountId,
            checkId: id,
            alertId,
            trigger,
            now: clock.now(),
          }),
        );
      const resolve = () =>
        db.tx((tx) => resolveTriggeredIncident(tx, background, { accountId, checkId: id, now: clock.now() }));
      const alertId = uuidv7();
      await resolve();
      await open(alertId);
      await open(alertId);
      await open(uuidv7());
      expect(await incidents()).toEqual([['Down MAJOR', 'INVESTIGATING', true]]);
      const [row] = await db.query<{ id: string }>(
        'select id from status_page_incidents where account_id = $1',
        [accountId],
      );
      const update = { status: 'RESOLVED', description: 'By hand', notifySubscribers: false } as const;
      await db.tx((tx) =>
        addUpdate(tx, background, { ...update, incidentId: row?.id ?? '', now: clock.now() }),
      );
      await open(alertId);
      await resolve();
      await resolve();
      expect(await incidents()).toEqual([['Down MAJOR', 'INVESTIGATING RESOLVED', false]]);
      clock.advance(1000);
      await open(uuidv7());
      await db.query('delete from checks where id = $1', [id]);
      await resolve();
      expect((await incidents())[1]).toEqual(['Down MAJOR', 'INVESTIGATING', false]);
    });
  });
});
