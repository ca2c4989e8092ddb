import { expect, test } from 'vitest';
import { reasonOf } from '../../../src/protocol/reasons.ts';
import { promptOf } from '../../../src/service/analyses/ask-model.ts';
import type { Facts } from '../../../src/service/analyses/facts.ts';
import { secretsOfCheck } from '../../../src/service/analyses/secrets-of-check.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createEncryption } from '../../../src/service/engine/encryption.ts';
import { anyDatabase } from '../../helpers/service/database.ts';

/** Requests to a model, with secrets in every place of a result or check: an oracle searches for them. */

const at = new Date('2026-03-01T12:00:00Z');

const secrets = [
  'plain-Secret-0123456789',
  'with "quotes" and \\ in it 42',
  'two\nlines-of-one-secret\tand a tab',
  'ümläut-geheim-§§-€99',
  'a b+c/d=e&f?g#h%i',
];

/** Every form in which one may come along. */
const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('base64'),
];

/** Text that holds `secret`, long enough that whoever shortens it does so within the secret. */
const cutAt = (length: number, secret: string) => 'x'.repeat(length - Math.floor(secret.length / 2)) + secret;

function factsWith(hidden: string): Facts {
  const texts = {
    plain: hidden,
    cut199: cutAt(199, hidden),
    cut499: cutAt(499, hidden),
    [hidden]: 'as a name',
  };
  const body = {
    assertions: [
      {
        source: 'JSON_BODY',
        property: hidden,
        comparison: 'EQUALS',
        target: hidden,
        regex: null,
        actual: texts,
        error: `not ${hidden}`,
      },
      {
        source: 'TEXT_BODY',
        property: '',
        comparison: 'EQUALS',
        target: cutAt(199, hidden),
        regex: hidden,
        actual: cutAt(199, hidden),
        error: 'no',
      },
    ],
    timings: { dns: 1, total: 2, note: hidden },
    details: {
      request: {
        url: `https://shop.example/${hidden}`,
        data: hidden,
        headers: { 'x-own': hidden, cookie: 'sid=cookie-value-777' },
      },
      response: {
        status: 503,
        statusText: hidden,
        href: `https://me:${encodeURIComponent(hidden)}@shop.example/`,
        body: cutAt(8000, hidden),
        headers: { 'set-cookie': 'sid=cookie-value-777' },
      },
      requestError: hidden,
      traceroute: { reached: false, hops: [{ hop: 1, address: hidden, error: hidden }] },
      packetCapture: { summary: cutAt(299, hidden) },
      errors: [{ message: hidden }],
      tests: [{ title: hidden, errors: [hidden] }],
    },
    artifacts: [{ name: hidden, type: hidden, size: 1, state: 'stored', url: null }],
    log: [{ time: 1, level: 'INFO', msg: hidden }],
  };
  const short = {
    id: 'r',
    status: 'failed',
    runLocation: hidden,
    responseTime: 1,
    startedAt: at,
    message: hidden,
    code: hidden,
    timings: { note: hidden },
  };
  return {
    check: { name: `Shop ${hidden}`, checkType: 'API', groupId: null, definition: {} },
    group: {
      id: 'g',
      accountId: 'a',
      checkId: 'c',
      errorHash: 'h',
      rawErrorMessage: cutAt(499, hidden),
      cleanedErrorMessage: hidden,
      firstSeen: at,
      lastSeen: at,
      lastResultId: 'r',
      archivedUntilNextEvent: false,
      archiveForEver: false,
    },
    latest: {
      status: 'failed',
      runLocation: hidden,
      checkType: 'API',
      reason: reasonOf('HTTP_STATUS', cutAt(499, hidden)),
      body,
    } as unknown as NonNullable<Facts['latest']>,
    inGroup: [short],
    otherFailed: [short],
    passed: [{ ...short, status: 'passed' }],
    userContext: `we changed ${hidden}`,
  };
}

test.each(secrets.flatMap((secret) => formsOf(secret).map((form) => [form, secret] as const)))(
  'no part of %j is sent',
  (form, secret) => {
    const sent = promptOf(factsWith(form), [{ name: 'PASSWORD', value: secret }]);
    expect(() => JSON.parse(sent.length < 24_000 ? sent : '{}') as unknown).not.toThrow();
    for (const known of formsOf(secret)) {
      expect(sent).not.toContain(known);
      // Nor half of it, where something was cut.
      expect(sent).not.toContain(known.slice(0, Math.floor(known.length / 2)));
    }
    expect(sent).not.toContain('cookie-value-777');
    expect(sent).toContain('*********');
  },
);

test('passwords within URLs are not sent', () => {
  expect(promptOf(factsWith('https://ann:hunter2-unknown@shop.example/x'), [])).not.toContain(
    'hunter2-unknown',
  );
});

test('the secrets of a check are its variables, locked and encrypted values, and passwords in URLs', async () => {
  const encryption = createEncryption('a key for tests of secrets');
  const db: Db = await anyDatabase.open();
  try {
    const variable = (key: string, value: string, is: { secret?: boolean; locked?: boolean } = {}) => ({
      key,
      value: is.secret === true ? encryption.seal(value) : value,
      locked: is.locked === true,
      secret: is.secret === true,
    });
    const definition = {
      environmentVariables: [
        variable('A', 'value-of-a', { secret: true }),
        variable('B', 'value-of-b', { locked: true }),
        variable('C', 'value-of-c'),
      ],
      request: {
        url: 'https://me:pass%20word@shop.example/',
        headers: [{ key: 'x-key', value: encryption.seal('value-of-header'), locked: true }],
        basicAuth: { username: 'ann', password: encryption.seal('value-of-basic') },
      },
    };
    const accountId = '00000000-0000-7000-8000-000000000000';
    const found = await secretsOfCheck(db, encryption, { accountId, check: { groupId: null, definition } });
    expect([...new Set(found.map(({ value }) => value))].sort()).toEqual(
      ['value-of-a', 'value-of-b', 'value-of-header', 'value-of-basic', 'pass word'].sort(),
    );
  } finally {
    await anyDatabase.close();
  }
});
