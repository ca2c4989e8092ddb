import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { insertAlerts, type AlertRow } from '../../../src/service/alerting/statements.ts';
import { eventsChannel } from '../../../src/service/events/statements.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { addCheck, addLocation } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The stream of live changes, read over HTTP from another replica than the one that makes the changes. */

type Event = { id: string; event: string; data: { [field: string]: unknown } };

const patient = { timeout: 10_000, interval: 20 };

/** Reads a stream until it is closed. */
async function openStream(url: string, key: string, headers: Record<string, string> = {}, query = '') {
  const stop = new AbortController();
  const answer = await fetch(`${url}/v1/events${query}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: stop.signal,
  });
  const events: Event[] = [];
  let text = '';
  let isOver = false;
  const read = async () => {
    if (answer.body === null) return;
    let rest = '';
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const parts = (rest + chunk).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const fields = new Map(
          part
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
        );
        const data = fields.get('data');
        if (data === undefined) continue;
        events.push({
          id: fields.get('id') ?? '',
          event: fields.get('event') ?? '',
          data: JSON.parse(data) as Event['data'],
        });
      }
    }
  };
  const over = read()
    .catch(() => undefined)
    .then(() => (isOver = true));
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    events,
    text: () => text,
    isOver: () => isOver,
    close: async () => {
      stop.abort();
      await over;
    },
    over,
  };
}

describe.each(databases)('live events ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let db: Db;
    let near: TestService;
    let far: TestService;
    const open: { close: () => Promise<unknown> }[] = [];
    beforeAll(async () => {
      const [first, second] = await database.openReplicas(2);
      if (first === undefined || second === undefined) throw new Error('not opened');
      db = first;
      near = await startTestService(first);
      far = await startTestService(second);
    });
    afterEach(async () => {
      for (const stream of open.splice(0)) await stream.close();
    });
    afterAll(async () => {
      await near.close();
      await far.close();
      await database.close();
    });

    async function stream(key = near.account.key, headers: Record<string, string> = {}, query = '') {
      const opened = await openStream(far.url, key, headers, query);
      open.push(opened);
      return opened;
    }
    const kinds = ({ events }: { events: Event[] }) => events.map(({ event }) => event);

    async function addJob(checkId: string, locationId: string): Promise<string> {
      const id = uuidv7();
      await db.query(
        `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, due_at,
           not_before, expires_at, claim_window_seconds)
         values ($1, $2, $3, $1, $1, $4, 'office', 'URL', 'uptime', now(), now(), now(), 600)`,
        [id, near.account.id, checkId, locationId],
      );
      return id;
    }
    const alert = (checkId: string): AlertRow => ({
      id: uuidv7(),
      accountId: near.account.id,
      checkId,
      locationId: null,
      checkName: 'Check',
      checkType: 'URL',
      checkDescription: null,
      tags: [],
      groupId: null,
      groupName: null,
      alertType: 'ALERT_FAILURE',
      resultId: null,
      runLocation: null,
      runLocationName: null,
      runLocations: [],
      responseTime: null,
      error: null,
      statusCode: null,
      statusText: null,
      sslDomain: null,
      sslDaysRemaining: null,
      isReminder: false,
      reminderSequence: 0,
      isLate: false,
      silenced: false,
      startedAt: new Date(),
      createdAt: new Date(),
    });
    const setStatus = (checkId: string, status: string) =>
      db.query(
        `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, last_started_at)
         values ($1, $2, $3, false, false, false, now()) on conflict (check_id) do update set status = excluded.status`,
        [checkId, near.account.id, status],
      );

    test('every kind of change of the account arrives, from whatever replica, and nothing of others', async () => {
      const { id: accountId } = near.account;
      const office = await addLocation(db, { accountId, slug: `office-${uuidv7().slice(-6)}` });
      const own = await stream();
      const foreign = await stream(near.foreign.key);
      expect([own.status, own.type]).toEqual([200, 'text/event-stream; charset=utf-8']);
      const checkId = await addCheck(db, { accountId, now: Date.now() });
      await db.query('update checks set next_due_at = now() where id = $1', [checkId]);
      await db.query('update checks set updated_at = now() where id = $1', [checkId]);
      const jobId = await addJob(checkId, office.id);
      await db.query(`update jobs set state = 'leased', lease_expires_at = now() where id = $1`, [jobId]);
      await db.query(`update jobs set lease_expires_at = now() where id = $1`, [jobId]);
      await db.query(`update jobs set stage = 'running' where id = $1`, [jobId]);
      const at = Date.parse('2026-11-23T10:00:00.123Z');
      const [resultId] = await storeRuns(db, { accountId, checkId }, [
        { at, responseTime: 40 },
        { at, isTest: true },
        { at, resultType: 'ATTEMPT' },
      ]);
      await db.query('delete from jobs where id = $1', [jobId]);
      for (const status of ['passed', 'passed', 'failed']) await setStatus(checkId, status);
      const raised = alert(checkId);
      await insertAlerts(db, [raised, { ...alert(checkId), silenced: true }]);
      await db.query('delete from checks where id = $1', [checkId]);
      await vi.waitFor(() => expect(own.events.at(-1)?.data['change']).toBe('deleted'), patient);
      const job = { checkId, sequenceId: jobId, runLocation: 'office' };
      expect(own.events.map(({ event, data }) => ({ event, data }))).toEqual([
        { event: 'check', data: { checkId, change: 'created' } },
        { event: 'check', data: { checkId, change: 'updated' } },
        { event: 'job', data: { ...job, state: 'leased', stage: null } },
        { event: 'job', data: { ...job, state: 'leased', stage: 'running' } },
        {
          event: 'run',
          data: {
            checkId,
            resultId,
            sequenceId: expect.any(String),
            status: 'passed',
            responseTime: 40,
            runLocation: 'eu-west-1',
            startedAt: '2026-11-23T10:00:00.123Z',
            stoppedAt: '2026-11-23T10:00:00.163Z',
          },
        },
        { event: 'job', data: { ...job, state: 'ended', stage: null } },
        { event: 'state', data: { checkId, state: 'passing' } },
        { event: 'state', data: { checkId, state: 'failing' } },
        { event: 'alert', data: { checkId, alertType: 'ALERT_FAILURE', id: raised.id } },
        { event: 'check', data: { checkId, change: 'deleted' } },
      ]);
      expect(own.text().startsWith('retry: 2000\n\n')).toBe(true);
      expect(foreign.events).toEqual([]);
    });

    test('incidents, maintenance, status pages, services, groups and notifications arrive', async () => {
      const own = await stream();
      const foreign = await stream(near.foreign.key);
      type Made = { id: string | number };
      const make = async (path: string, body: object) =>
        (await near.call<Made>('POST', path, { body })).body.id;
      const group = await make('/v2/check-groups', { name: 'Shop' });
      const groupPath = `/v2/check-groups/${group}`;
      await near.call('PUT', groupPath, { body: { muted: true } });
      await near.call('DELETE', groupPath);
      const service = await make('/v1/status-pages/services', { name: 'Cart' });
      const page = await make('/v1/status-pages', { name: 'Status', url: `u${uuidv7()}`, cards: [] });
      const incident = await make('/v1/status-pages/incidents', {
        name: 'Down',
        severity: 'MAJOR',
        services: [{ id: service }],
        incidentUpdates: [{ status: 'INVESTIGATING', description: 'We look.', notifySubscribers: false }],
      });
      const window = await make('/v1/maintenance-windows', {
        name: 'Move',
        startsAt: '2027-03-04T05:06',
        endsAt: '2027-03-04T06:06',
        timezone: 'UTC',
      });
      await near.call('DELETE', `/v1/maintenance-windows/${window}`);
      const notification = uuidv7();
      await db.query(
        `insert into alert_notifications (id, account_id, channel_id, channel_type, alert_type, alert_config, created_at)
         values ($1, $2, 1, 'WEBHOOK', 'ALERT_FAILURE', '{}', now())`,
        [notification, near.account.id],
      );
      await db.query(`update alert_notifications set told = '{a}' where id = $1`, [notification]);
      await db.query(`update alert_notifications set status = 'SUCCESS' where id = $1`, [notification]);
      await vi.waitFor(() => expect(own.events.at(-1)?.data['status']).toBe('SUCCESS'), patient);
      const of = (kind: string) => own.events.filter(({ event }) => event === kind).map(({ data }) => data);
      expect(of('group')).toEqual([
        { id: group, change: 'created' },
        { id: group, change: 'updated' },
        { id: group, change: 'deleted' },
      ]);
      expect(of('service')).toEqual([{ id: service, change: 'created' }]);
      expect(of('page')).toEqual([{ id: page, change: 'created' }]);
      expect(of('incident')[0]).toEqual({ id: incident, change: 'created' });
      expect(of('incident')).toContainEqual({ id: incident, change: 'updated' });
      expect(of('maintenance')).toEqual([
        { id: window, change: 'created' },
        { id: window, change: 'deleted' },
      ]);
      const told = { id: notification, checkId: null };
      expect(of('notification')).toEqual([
        { ...told, status: 'IN_PROGRESS' },
        { ...told, status: 'SUCCESS' },
      ]);
      expect(foreign.events).toEqual([]);
    });

    test('updates of incidents and of maintenance, and deployments, arrive', async () => {
      const own = await stream();
      const window = await near.call<{ id: number }>('POST', '/v1/maintenance-windows', {
        body: { name: 'Move', startsAt: '2027-03-04T05:06', endsAt: '2027-03-04T06:06', timezone: 'UTC' },
      });
      const path = `/v1/maintenance-windows/${window.body.id}/occurrences`;
      const [first] = (await near.call<{ id: string }[]>('GET', `${path}?from=2027-03-01`)).body;
      await near.call('POST', `${path}/${first?.id}/cancel`, { body: {} });
      await db.query(
        `insert into projects (id, account_id, logical_id, name, created_at) values ($1, $2, 'site', 'Site', now())`,
        [uuidv7(), near.account.id],
      );
      await vi.waitFor(
        () =>
          expect(own.events.at(-1)).toMatchObject({
            event: 'deployment',
            data: { id: 'site', change: 'created' },
          }),
        patient,
      );
      expect(
        own.events.filter(({ event }) => event === 'maintenance').map(({ data }) => data),
      ).toContainEqual({
        id: window.body.id,
        change: 'updated',
      });
    });

    test('a stream of one check has only its events', async () => {
      const { id: accountId } = near.account;
      const [one, other] = [uuidv7(), uuidv7()];
      const own = await stream(near.account.key, {}, `?checkId=${one.toUpperCase()}`);
      await storeRuns(db, { accountId, checkId: other }, [{ at: Date.now() }]);
      await storeRuns(db, { accountId, checkId: one }, [{ at: Date.now() }]);
      await vi.waitFor(() => expect(own.events).toHaveLength(1), patient);
      expect(own.events[0]?.data['checkId']).toBe(one);
    });

    test('a stream that was cut off continues after the last event; with an unknown id it begins with a reset', async () => {
      const { id: accountId } = near.account;
      const checkId = uuidv7();
      const run = () => storeRuns(db, { accountId, checkId }, [{ at: Date.now() }]);
      const witness = await stream();
      const first = await stream();
      await run();
      await vi.waitFor(() => expect(first.events).toHaveLength(1), patient);
      await first.close();
      const [second] = await run();
      await vi.waitFor(() => expect(witness.events).toHaveLength(2), patient);
      const again = await stream(near.account.key, { 'last-event-id': first.events[0]?.id ?? '' });
      await vi.waitFor(() => expect(again.events).toHaveLength(1), patient);
      expect(again.events[0]?.data['resultId']).toBe(second);
      const late = await stream(near.account.key, { 'last-event-id': '00000000-17' });
      await run();
      await vi.waitFor(() => expect(kinds(late)).toEqual(['reset', 'run']), patient);
      expect(late.events[0]?.data).toEqual({ reason: 'TOO_OLD' });
    });

    test('a key has at most 20 streams', async () => {
      for (let count = 0; count < 20; count++) await stream();
      const { status, body } = await far.call('GET', '/v1/events', { key: near.account.key });
      expect([status, body['message']]).toEqual([
        429,
        'Too many event streams with this API key (at most 20): try again in 10 s.',
      ]);
      expect((await stream(near.foreign.key)).status).toBe(200);
    });

    test('nothing is published while no stream is open', async () => {
      await db.query('delete from event_readers');
      const heard: string[] = [];
      const stop = await db.listen(eventsChannel, (payload) => heard.push(payload));
      await addCheck(db, { accountId: near.account.id, now: Date.now() });
      await db.notify(eventsChannel, 'the end');
      await vi.waitFor(() => expect(heard).toEqual(['the end']), patient);
      await stop();
    });

    test.skipIf(database.name === 'embedded')('a lost database connection is a reset', async () => {
      const own = await stream();
      await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen ${eventsChannel}' and datname = current_database()`,
      );
      await vi.waitFor(
        () => expect(own.events.map(({ data }) => data)).toEqual([{ reason: 'CONNECTION_LOST' }]),
        patient,
      );
    });

    test('streams end when the service stops', async () => {
      const [replica] = await database.openReplicas(1);
      if (replica === undefined) throw new Error('not opened');
      const third = await startTestService(replica);
      const own = await openStream(third.url, third.account.key);
      expect(own.isOver()).toBe(false);
      await third.close();
      await own.over;
      expect(own.isOver()).toBe(true);
    });
  });
});
