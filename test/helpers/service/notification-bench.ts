import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { readNotificationConfig, type NotificationConfig } from '../../../src/config/notifications.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import { insertAlerts, type AlertRow } from '../../../src/service/alerting/statements.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { handleNotifications } from '../../../src/service/notifications/deliver.ts';
import { createMailer } from '../../../src/service/notifications/email.ts';
import type { Calling } from '../../../src/service/notifications/http-call.ts';
import { queueNotifications } from '../../../src/service/alert-channels/queue.ts';
import { kindOfAddress } from '../../../src/addresses/address-kind.ts';
import { silent } from './agent-service.ts';
import { anyDatabase } from './database.ts';
import { startMailServer, startReceiver, type MailServer, type Receiver } from './notification-targets.ts';
import { startTestService, type Fields, type TestService } from './service.ts';

/** The service's clock. */
export const time = Date.parse('2026-03-04T05:06:07.000Z');
export const startedAt = '2026-03-04T05:06:00.000Z';
/** Of the alerts that `raise` makes. */
export const checkId = '0198c0de-0000-7000-8000-000000000001';
export const resultId = '0198c0de-0000-7000-8000-000000000002';
/** Notifications of one channel within an hour: of one check, and of all checks together. */
export const limits = { ofCheck: 4, all: 7 };

/** A service whose queue sends notifications, and real receivers for them. */
export type NotificationBench = {
  readonly db: Db;
  readonly service: TestService;
  readonly background: Background;
  readonly mailServer: MailServer;
  /** Where notifications go; the tests' mail server again before each test. */
  config: NotificationConfig;
  /** Of one call; 10 s again before each test. */
  timeoutMs: number;
  /** Another replica's queue on the same database. */
  createQueue: () => Background;
  /** Closed after the test. */
  receiver: (...options: Parameters<typeof startReceiver>) => Promise<Receiver>;
  /** Returns the channel's id. */
  createChannel: (type: string, channelConfig: Fields) => Promise<number>;
  /** Stores an alert and queues its notification to the channel. */
  raise: (channelId: number, fields?: Partial<AlertRow>) => Promise<AlertRow>;
  /** The rows of the notification log, newest first. `query` starts with `&`. */
  log: (query?: string) => Promise<Fields[]>;
  /** Ticks until no notification waits: retries, and those that wait for a turn, are due at once here. */
  allTries: () => Promise<void>;
};

/** Registers the hooks that start the service before all tests of a file, and empty its tables after each test. */
export function notificationBench(): NotificationBench {
  let db: Db;
  let service: TestService;
  let background: Background;
  let mailServer: MailServer;
  let encryption: TestService['encryption'];
  const open: { close: () => Promise<unknown> }[] = [];

  function createQueue(): Background {
    const queue = createBackground({ db, log: silent });
    const publicUrl = () => 'https://monitoring.example';
    handleNotifications(queue, {
      db,
      encryption,
      log: silent,
      now: () => time,
      get config() {
        return bench.config;
      },
      get calling(): Calling {
        return { privateTargets: 'allow', kindOf: kindOfAddress, timeoutMs: bench.timeoutMs };
      },
      sendMail: (mail) => createMailer(bench.config, publicUrl)(mail),
      publicUrl,
      retryDelaySeconds: 0,
      orderMs: 0,
      limits,
    });
    return queue;
  }

  beforeAll(async () => {
    db = await anyDatabase.open();
    mailServer = await startMailServer();
    service = await startTestService(db, { now: () => time });
    await service.close();
    encryption = service.encryption;
    background = createQueue();
    await background.prepare();
    service = await startTestService(db, { now: () => time, background, encryption });
  });
  afterAll(async () => {
    await service.close();
    await background.stop();
    await mailServer.close();
    await anyDatabase.close();
  });
  beforeEach(() => {
    bench.timeoutMs = 10_000;
    bench.config = readNotificationConfig({
      SMTP_URL: mailServer.url,
      SMTP_FROM: 'Monitoring <alerts@shop.example>',
    });
  });
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
    await db.query('delete from alert_channels');
    await db.query('delete from alert_notifications');
    await db.query('delete from account_variables');
  });

  const bench: NotificationBench = {
    get db() {
      return db;
    },
    get service() {
      return service;
    },
    get background() {
      return background;
    },
    get mailServer() {
      return mailServer;
    },
    config: readNotificationConfig({}),
    timeoutMs: 10_000,
    createQueue,
    receiver: async (...options) => {
      const started = await startReceiver(...options);
      open.push(started);
      return started;
    },
    createChannel: async (type, channelConfig) => {
      const { status, body } = await service.call('POST', '/v1/alert-channels', {
        body: { type, config: channelConfig },
      });
      expect([status, body]).toEqual([201, expect.anything()]);
      return Number(body['id']);
    },
    raise: async (channelId, fields = {}) => {
      const alert: AlertRow = {
        id: uuidv7(time),
        accountId: service.account.id,
        checkId,
        locationId: null,
        checkName: 'Shop "front"',
        checkType: 'API',
        checkDescription: 'The <b>front</b>',
        tags: ['team:shop'],
        groupId: null,
        groupName: null,
        alertType: 'ALERT_FAILURE',
        resultId,
        runLocation: 'eu-west-1',
        runLocationName: 'Ireland',
        runLocations: ['eu-west-1'],
        responseTime: 1234.5,
        error: 'expected 200\nbut was 503 <here>',
        statusCode: 503,
        statusText: 'Service Unavailable',
        sslDomain: null,
        sslDaysRemaining: null,
        isReminder: false,
        reminderSequence: 0,
        isLate: false,
        silenced: false,
        startedAt: new Date(startedAt),
        createdAt: new Date(time),
        ...fields,
      };
      await db.tx(async (tx) => {
        await insertAlerts(tx, [alert]);
        await queueNotifications(tx, background, {
          accountId: alert.accountId,
          channelIds: [channelId],
          alertId: alert.id,
        });
      });
      return alert;
    },
    log: async (query = '') =>
      (await service.call<Fields[]>('GET', `/v1/alert-notifications?limit=100${query}`)).body,
    allTries: async () => {
      for (let round = 0; round < 20; round++) {
        await background.tick();
        const waiting = await db.query(
          `update background.job set start_after = now() where name = 'notifications' and state < 'active' returning 1`,
        );
        if (waiting.length === 0) return;
      }
      throw new Error('notifications still wait after 20 rounds');
    },
  };
  return bench;
}

/** The JSON bodies that a receiver has got. */
export const bodiesOf = (target: Receiver): Fields[] =>
  target.received.map(({ body }) => JSON.parse(body) as Fields);
