import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { show, startSslLab, type SslLab } from '../../helpers/network/ssl-lab.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  resultOf,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import {
  addChannel,
  alertsOf,
  createAlertReplica,
  idleBackground,
} from '../../helpers/service/alert-runs.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import type { Background } from '../../../src/service/engine/background.ts';

/** From a certificate that an agent has seen to the status of its check, the exporter and the alert, for each form of results. */

const minute = 60_000;
const day = 24 * 60 * minute;

describe.each(databases)('certificates in results: $name', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const clock = createClock(Date.now());
    let lab: SslLab;
    let service: TestService;
    let agents: AgentService;
    let background: Background;
    let key = '';

    beforeAll(async () => {
      lab = await startSslLab();
      const db = await database.open();
      service = await startTestService(db, { now: clock.now });
      agents = await createAgentService(db, clock);
      background = await idleBackground(db);
      ({ key } = await addLocation(db, { accountId: service.account.id, slug: 'office' }));
    });
    afterAll(async () => {
      await background.stop();
      await agents.app.close();
      await service.close();
      await database.close();
      await lab.close();
    });

    /** Details of an SSL check of a server whose leaf and intermediate expire after these days. */
    async function seenBySslCheck(leafDays: number, middleDays = 1000): Promise<Record<string, unknown>> {
      const middle = await lab.leaf({
        name: `Middle ${middleDays}`,
        authority: true,
        to: middleDays,
        issuer: lab.root,
      });
      const leaf = await lab.leaf({ name: 'good.test', to: leafDays, issuer: middle });
      const port = await lab.serve(show(leaf, middle));
      return (await lab.check(port)).details;
    }
    const plain = (days: number) => ({
      subject: 'CN=good.test',
      validTo: new Date(lab.now + days * day).toISOString(),
      daysRemaining: days - 1,
    });
    const forms: [string, number, string, () => Promise<Record<string, unknown>>][] = [
      ['an SSL check', 13, 'good.test', () => seenBySslCheck(14)],
      ['an SSL check whose intermediate expires first', 8, 'good.test', () => seenBySslCheck(300, 9)],
      ['an expired certificate of an SSL check', -3, 'good.test', () => seenBySslCheck(-2)],
      [
        'a script check with sslCheckDomain',
        4,
        'shop.example',
        async () => ({ sslCheck: { host: 'shop.example', certificate: plain(5) } }),
      ],
      [
        'a URL check',
        20,
        'page.example',
        async () => ({ request: { url: 'https://page.example/' }, certificate: plain(21) }),
      ],
    ];

    it.each(forms)('reach status, exporter and alert: %s', async (_name, days, domain, see) => {
      const { db, account } = service;
      const checkId = await addCheck(db, {
        accountId: account.id,
        privateLocations: ['office'],
        checkType: 'URL',
        now: clock.now(),
      });
      const channel = await addChannel(db, { accountId: account.id, checkId, ssl: 30 });
      const [next] = await db.query<{ at: Date }>('select next_due_at as at from checks where id = $1', [
        checkId,
      ]);
      clock.set(next?.at.getTime() ?? 0);
      const agent = await connectAgent(agents.app, { key });
      await agents.scheduler.tick();
      const job = (await agent.claim()).find((one) => one.checkId === checkId);
      if (job === undefined) throw new Error('no job');
      expect(await agent.report(resultOf(job, clock.now(), { details: await see() }))).toMatchObject([
        { outcome: 'stored' },
      ]);
      await createAlertReplica(db, { background, clock }).follow();

      const status = await service.call('GET', `/v1/check-statuses/${checkId}`);
      expect(status.body).toMatchObject({ sslDaysRemaining: days });
      const answer = await fetch(`${service.url}/v1/metrics`, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      const line = (await answer.text())
        .split('\n')
        .find((each) => each.startsWith(`check_ssl_days_remaining{check_id="${checkId}"`));
      expect(line?.split(' ').at(-1)).toBe(String(days));
      expect(await alertsOf(db, checkId)).toEqual([`SSL to ${channel}`]);
      const [alert] = await db.query(
        'select ssl_domain as domain, ssl_days_remaining as days from alerts where check_id = $1',
        [checkId],
      );
      expect(alert).toEqual({ domain, days });
      await db.query('update checks set activated = false where id = $1', [checkId]);
    });
  });
});
