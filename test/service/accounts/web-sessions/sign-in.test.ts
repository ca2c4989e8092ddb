import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { version } from '../../../../src/version.ts';
import { createRetention } from '../../../../src/service/retention.ts';
import { createSignInToken } from '../../../../src/service/accounts/web-sessions/sessions.ts';
import { createWrongKeys, wrongKeysPerMinute } from '../../../../src/service/http/wrong-keys.ts';
import { createClock, silent } from '../../../helpers/service/agent-service.ts';
import { databases } from '../../../helpers/service/database.ts';
import {
  startTestService,
  type Answer,
  type Fields,
  type TestService,
} from '../../../helpers/service/service.ts';

/** Sign-in with an API key, by a cookie, and what must not work with one. */

const start = '2026-03-04T05:06:07.000Z';
const day = 86_400_000;
const same = { 'sec-fetch-site': 'same-origin' };

describe.each(databases)('on $name', (database) => {
  describe.skipIf(database.unavailable !== null)('sign-in', () => {
    const clock = createClock(start);
    let service: TestService;

    beforeAll(async () => {
      const db = await database.open();
      const wrongKeys = createWrongKeys({ now: clock.now });
      service = await startTestService(db, { now: clock.now, wrongKeys, trustedProxies: ['127.0.0.1'] });
    });
    afterAll(async () => {
      await service.close();
      await database.close();
    });
    beforeEach(async () => {
      clock.advance(61_000);
      await service.db.query('delete from web_sessions');
      await service.renewAccounts();
    });

    const cookieOf = ({ headers }: Pick<Answer<unknown>, 'headers'>) =>
      headers.get('set-cookie')?.split(';')[0] ?? '';
    const signIn = (apiKey: string, headers: Record<string, string> = {}) =>
      service.call('POST', '/v1/sign-in', { key: null, body: { apiKey }, headers });
    const by = (cookie: string, method: string, path: string, headers: Record<string, string> = {}) =>
      service.call(method, path, { key: null, headers: { cookie, ...headers } });
    const statusOf = async (cookie: string) => (await by(cookie, 'GET', '/v1/me')).status;
    const makeKey = async (body: Fields) =>
      (await service.call<{ id: string; rawKey: string }>('POST', '/v1/api-keys', { body })).body;

    test('a cookie takes the place of the key, and only its hash is stored', async () => {
      const { rawKey } = await makeKey({ name: 'Ann', role: 'READ_RUN' });
      const answer = await signIn(rawKey);
      expect(answer.status).toBe(200);
      const expiresAt = new Date(clock.now() + 30 * day).toISOString();
      const expected = {
        account: { id: service.account.id, name: 'First' },
        role: 'READ_RUN',
        keyName: 'Ann',
        maskedKey: `...${rawKey.slice(-4)}`,
        expiresAt,
        serviceUrl: service.url,
        agentImage: `location-agent:${version}`,
      };
      expect(answer.body).toEqual(expected);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('set-cookie')).toMatch(
        /^session=[\w-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/,
      );
      const cookie = cookieOf(answer);
      expect((await by(`theme=dark; session=of-another-program; ${cookie}`, 'GET', '/v1/me')).body).toEqual(
        expected,
      );
      const byKey = await service.call('GET', '/v1/me', { key: rawKey });
      expect(byKey.body).toEqual({ ...expected, expiresAt: null });
      const rows = await service.db.query(`select *, encode(token_hash, 'escape') from web_sessions`);
      expect(JSON.stringify(rows)).not.toContain(cookie.slice('session='.length));
    });

    test('behind TLS, the cookie is Secure and has the prefix, and no other name counts', async () => {
      const headers = { 'x-forwarded-proto': 'https' };
      const answer = await signIn(service.account.key, headers);
      expect(answer.headers.get('set-cookie')).toMatch(/^__Host-session=.*; Secure$/);
      const cookie = cookieOf(answer);
      expect((await by(cookie, 'GET', '/v1/me', headers)).status).toBe(200);
      expect((await by(cookie.replace('__Host-', ''), 'GET', '/v1/me', headers)).status).toBe(401);
    });

    test('a page without TLS of a service behind TLS gets the https address, because browsers would drop the cookie', async () => {
      const publicUrl = 'https://checks.example';
      const behind = await startTestService(service.db, { now: clock.now, publicUrl });
      const from = (headers: Record<string, string>) =>
        behind.call<Fields>('POST', '/v1/sign-in', {
          key: null,
          headers,
          body: { apiKey: behind.account.key },
        });
      const refused = await from({ origin: behind.url });
      expect([refused.status, refused.headers.get('set-cookie')]).toEqual([400, null]);
      expect(JSON.stringify(refused.body)).toContain(`Sign in at ${publicUrl}`);
      // A page behind TLS, a program, and a loopback address, which browsers trust.
      for (const headers of [{ origin: publicUrl }, {}, { origin: behind.url, ...same }])
        expect((await from(headers)).headers.get('set-cookie')).toMatch(/^__Host-session=/);
      await behind.close();
    });

    test('a change by cookie must come from a page of this service', async () => {
      const cookie = cookieOf(await signIn(service.account.key));
      const change = async (headers: Record<string, string>) =>
        (
          await service.call('POST', '/v1/snippets', {
            key: null,
            headers: { cookie, ...headers },
            body: { name: `s${clock.now()}`, script: '' },
          })
        ).status;
      expect(await change({})).toBe(403);
      for (const site of ['cross-site', 'same-site', 'same-origin, cross-site']) {
        expect(await change({ 'sec-fetch-site': site, origin: service.url })).toBe(403);
      }
      for (const origin of [
        'https://evil.example',
        'null',
        service.url.replace(/\d+$/, '1'),
        `${service.url}.evil.example`,
      ]) {
        expect(await change({ origin })).toBe(403);
      }
      expect(await change({ origin: service.url })).toBe(201);
      clock.advance(1);
      expect(await change(same)).toBe(201);
      clock.advance(1);
      // The header has a key of its own, and browsers do not add it.
      const authorization = `Bearer ${service.account.key}`;
      expect(await change({ authorization, 'sec-fetch-site': 'cross-site' })).toBe(201);
      const read = await by(cookie, 'GET', '/v1/me', { 'sec-fetch-site': 'cross-site' });
      expect([read.status, read.headers.get('cross-origin-resource-policy')]).toEqual([200, 'same-origin']);
    });

    test('a wrong header is refused even with a cookie, and another account too', async () => {
      const cookie = cookieOf(await signIn(service.account.key));
      expect((await by(cookie, 'GET', '/v1/me', { authorization: 'Bearer key_wrong' })).status).toBe(401);
      expect((await by(cookie, 'GET', '/v1/me', { 'x-service-account': service.foreign.id })).status).toBe(
        403,
      );
    });

    test('another site neither signs in nor out', async () => {
      const cookie = cookieOf(await signIn(service.account.key));
      const foreign = { 'sec-fetch-site': 'cross-site' };
      expect((await signIn(service.foreign.key, foreign)).status).toBe(403);
      expect((await signIn(service.foreign.key, { origin: 'https://evil.example' })).status).toBe(403);
      expect((await by(cookie, 'POST', '/v1/sign-out', foreign)).status).toBe(403);
      expect((await by(cookie, 'POST', '/v1/sign-out')).status).toBe(403);
      // A form of another site sends no cookie, and the answer must not delete it.
      const form = await service.call('POST', '/v1/sign-out', { key: null, headers: foreign });
      expect([form.status, form.headers.get('set-cookie')]).toEqual([403, null]);
      expect(await statusOf(cookie)).toBe(200);
    });

    test('two tabs sign out, and the session has ended on the service', async () => {
      const cookie = cookieOf(await signIn(service.account.key));
      expect(await statusOf(cookie)).toBe(200);
      const answers = await Promise.all([1, 2].map(() => by(cookie, 'POST', '/v1/sign-out', same)));
      expect(answers.map(({ status }) => status)).toEqual([204, 204]);
      expect(answers[0]?.headers.get('set-cookie')).toMatch(/^session=; Path=\/; Max-Age=0; HttpOnly/);
      expect(await statusOf(cookie)).toBe(401);
      expect(await service.db.query('select 1 from web_sessions')).toEqual([]);
    });

    test('a sign-in never takes over the token that the browser has, and ends its session', async () => {
      const planted = cookieOf(await signIn(service.foreign.key));
      const own = cookieOf(await signIn(service.account.key, { cookie: planted, ...same }));
      expect(own).not.toBe(planted);
      expect([await statusOf(planted), await statusOf(own)]).toEqual([401, 200]);
      const made = `session=${'A'.repeat(43)}`;
      expect(cookieOf(await signIn(service.account.key, { cookie: made }))).not.toBe(made);
      expect(await statusOf(made)).toBe(401);
    });

    test('a session ends with its key within five seconds, and loses its role with it', async () => {
      const { id, rawKey } = await makeKey({ name: 'Ann', role: 'READ_WRITE' });
      const cookie = cookieOf(await signIn(rawKey));
      const create = async () =>
        (
          await service.call('POST', '/v1/snippets', {
            key: null,
            headers: { cookie, ...same },
            body: { name: `s${clock.now()}`, script: '' },
          })
        ).status;
      expect(await create()).toBe(201);
      await service.call('PUT', `/v1/api-keys/${id}`, { body: { role: 'READ_ONLY' } });
      clock.advance(5001);
      expect(await create()).toBe(403);
      await service.call('DELETE', `/v1/api-keys/${id}`);
      clock.advance(5001);
      expect(await statusOf(cookie)).toBe(401);
      expect((await signIn(rawKey)).status).toBe(401);
      expect(await service.db.query('select 1 from web_sessions')).toEqual([]);
    });

    test('a session ends when its key expires, at once', async () => {
      const expiresAt = new Date(clock.now() + 60_000).toISOString();
      const { rawKey } = await makeKey({ name: 'Visitor', expiresAt });
      const answer = await signIn(rawKey);
      expect(answer.body).toMatchObject({ expiresAt });
      const cookie = cookieOf(answer);
      clock.advance(58_000);
      expect(await statusOf(cookie)).toBe(200);
      clock.advance(2_000);
      expect(await statusOf(cookie)).toBe(401);
      expect((await signIn(rawKey)).status).toBe(401);
    });

    test('a session ends 30 days after its last use, and retention removes it', async () => {
      const used = cookieOf(await signIn(service.account.key));
      const unused = cookieOf(await signIn(service.account.key));
      clock.advance(29 * day);
      expect(await statusOf(used)).toBe(200);
      clock.advance(day);
      expect([await statusOf(used), await statusOf(unused)]).toEqual([200, 401]);
      expect(await service.db.query('select 1 from web_sessions')).toHaveLength(2);
      await createRetention({ db: service.db, now: clock.now, log: silent }).tick();
      expect(await service.db.query('select 1 from web_sessions')).toHaveLength(1);
      expect(await statusOf(used)).toBe(200);
    });

    test('a key has at most 100 sessions', async () => {
      const first = cookieOf(await signIn(service.account.key));
      clock.advance(1);
      for (let made = 0; made < 100; made++) await signIn(service.account.key);
      expect(await service.db.query('select 1 from web_sessions')).toHaveLength(100);
      expect(await statusOf(first)).toBe(401);
    });

    test('wrong keys count in the limit of wrong keys, and a right one is accepted all the same', async () => {
      for (let made = 0; made < wrongKeysPerMinute; made++)
        expect((await signIn('key_wrong')).status).toBe(401);
      expect((await signIn('key_wrong')).status).toBe(429);
      expect((await signIn(service.account.key)).status).toBe(200);
      expect((await signIn('two words')).status).toBe(400);
    });

    test('an address signs in once, within ten minutes', async () => {
      const make = () =>
        createSignInToken(service.db, { apiKey: service.account.key, now: clock.now() }).then(
          (token) => token ?? '',
        );
      const open = (token: string, method = 'GET') =>
        fetch(`${service.url}/sign-in?token=${token}`, { redirect: 'manual', method });
      const target = (answer: Response) => [answer.status, answer.headers.get('location')];
      const used = [303, '/sign-in?reason=used'];
      const token = await make();
      expect(
        JSON.stringify(await service.db.query(`select encode(token_hash, 'escape') from sign_in_tokens`)),
      ).not.toContain(token);
      expect((await open(token, 'HEAD')).status).toBe(200);
      // Two tabs open it at the same time.
      const answers = await Promise.all([open(token), open(token)]);
      const first = answers.find((answer) => answer.headers.get('set-cookie') !== null);
      expect(answers.map(target)).toEqual(expect.arrayContaining([[303, '/'], used]));
      expect(first?.headers.get('cache-control')).toBe('no-store');
      expect(await statusOf(first === undefined ? '' : cookieOf(first))).toBe(200);
      const late = await make();
      clock.advance(600_000);
      for (const other of [token, late, '', 'x', 'a&token=b'])
        expect(target(await open(other))).toEqual(used);
      const page = await fetch(`${service.url}/sign-in?reason=used`);
      expect(page.headers.get('content-type')).toMatch(/^text\/html/);
      expect(await createSignInToken(service.db, { apiKey: 'key_wrong', now: clock.now() })).toBeNull();
    });
  });
});
