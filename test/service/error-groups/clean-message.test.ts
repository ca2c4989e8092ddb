import { describe, expect, test } from 'vitest';
import { cleanMessage, hashOfMessage, noMessage } from '../../../src/service/error-groups/clean-message.ts';
import { rawMessageOf } from '../../../src/service/error-groups/raw-message.ts';
import { processorMs } from '../../helpers/processor-time.ts';

/** Parts that are removed from messages, so that errors of one kind are one group. */

describe('cleaned messages', () => {
  test.each([
    ['an id', 'order 3f2b8c1e-0a4d-4f6e-9b7a-1c2d3e4f5a6b is gone', 'order <id> is gone'],
    [
      'numbers',
      'assertion 2 of 13 failed: 1,204.5 is not -7',
      'assertion <number> of <number> failed: <number> is not <number>',
    ],
    ['a status', 'the response has the status 503', 'the response has the status <number>'],
    ['durations', 'no answer within 10 s (took 1234.5ms)', 'no answer within <duration> (took <duration>)'],
    ['sizes', 'the body has 12 MB', 'the body has <size>'],
    ['times', 'expired at 2026-03-04T05:06:07.123Z', 'expired at <time>'],
    ['an HTTP date', 'since Wed, 04 Mar 2026 05:06:07 GMT', 'since <time>'],
    ['a date', 'valid to Mar 4 2026', 'valid to <time>'],
    ['a clock', 'at 05:06:07 it broke', 'at <time> it broke'],
    ['an address and port', 'connect ECONNREFUSED 10.1.2.3:443', 'connect ECONNREFUSED <address>'],
    [
      'an IPv6 address',
      'connect ECONNREFUSED ::1:8080 and [2001:db8::1]:443',
      'connect ECONNREFUSED <address> and <address>',
    ],
    [
      'a URL',
      'GET https://me:pw@shop.example:8443/orders/4711/items?token=x#y failed.',
      'GET https://shop.example/orders/<id>/items failed.',
    ],
    ['a URL of an address', 'GET http://10.0.0.1:80/a?b=1', 'GET http://<address>/a'],
    ['a path', "Cannot find module '/srv/app/node_modules/left-pad/index.js'", "Cannot find module '<path>'"],
    ['a Windows path', String.raw`in C:\Users\me\spec.ts:3:7`, 'in <path>'],
    ['a position', 'shop.spec.ts:12:34 threw', 'shop.spec.ts threw'],
    ['line and column', 'Unexpected token at line 3, column 9', 'Unexpected token at line <number>'],
    ['hexadecimal', 'commit 0a1b2c3d4e and 0xFF', 'commit <id> and <id>'],
    ['a token', 'session ey_a8sKd92Ls-0aQ81LmPz7 ended', 'session <id> ended'],
    ['an e-mail address', 'no user a.b+c@example.com', 'no user <email>'],
    ['a ULID', 'order 01ARZ3NDEKTSV4RRFFQ69G5FAV is gone', 'order <id> is gone'],
    [
      'numbers within names',
      'item42 and item-43 at localhost:3000',
      'item<number> and item<number> at localhost:<number>',
    ],
    ['a time of the day', 'closed at 5:06 pm', 'closed at <time>'],
    ['a compact time', 'backup 20260304T050607Z', 'backup <time>'],
    [
      'a date of JavaScript',
      'Tue Mar 04 2026 05:06:07 GMT+0100 (Central European Standard Time)!',
      '<time>!',
    ],
    [
      'durations in a row',
      'took 1h 30m, then 1m30s, then 2 minutes 3 seconds',
      'took <duration>, then <duration>, then <duration>',
    ],
    ['an address with its zone', 'fe80::1%eth0 is unreachable', '<address> is unreachable'],
    ['a URL of a file', 'file:///srv/app/index.js:3:4 threw', '<path> threw'],
    ['a shared folder', String.raw`no file \\server\share\a.txt here`, 'no file <path> here'],
    ['a Windows path with slashes', 'in C:/Users/me/spec.ts', 'in <path>'],
    ['digits of other scripts', 'Zeile ５, ٣ نتائج', 'Zeile <number>, <number> نتائج'],
    ['a link of a terminal', '\u001b]8;;https://x.example\u0007here\u001b]8;;\u0007', 'here'],
    ['a result and its status', 'expected 200, received 503', 'expected <number>, received <number>'],
    ['colours', '\u001b[31mexpect\u001b[39m(\u001b[2mreceived\u001b[22m)', 'expect(received)'],
    [
      'a value that was found',
      'Expected: "Thank you"\nReceived: "Sorry, Ann"',
      'Expected: "Thank you" Received: "<value>"',
    ],
    ['a locator stays', "waiting for locator('#submit')", "waiting for locator('#submit')"],
    ['a long quote', `it said "${'so '.repeat(40)}"`, 'it said "<value>"'],
    ['an apostrophe is no quote', "it isn't there, and can't be", "it isn't there, and can't be"],
    [
      'names with digits stay',
      'HTTP/1.1 over TLSv1.3 by IPv4, SHA-256',
      'HTTP/1.1 over TLSv1.3 by IPv4, SHA-256',
    ],
    [
      'frames, code and the log of calls',
      'Error: no button\n\n  12 | await page.go();\n> 13 | await x.click();\n     |         ^\n    at shop.spec.ts:13:9\n\nCall log:\n  - waiting',
      'Error: no button',
    ],
    ['blanks', '  a \t b\r\n c  ', 'a b c'],
    ['nothing', '', noMessage],
    ['only colours', '\u001b[31m\u001b[39m', noMessage],
  ])('%s', (_what, raw, expected) => {
    expect(cleanMessage(raw)).toBe(expected);
  });

  test('one kind of error has one hash, another kind another one', () => {
    const of = (raw: string) => hashOfMessage(cleanMessage(raw));
    expect(of('took 1200 ms; the limit is 1000 ms')).toBe(of('took 3.5 s; the limit is 1 s'));
    expect(of('getaddrinfo ENOTFOUND a.example')).not.toBe(of('connect ECONNREFUSED a.example'));
    expect(of('x')).toMatch(/^[0-9a-f]{64}$/);
    expect(cleanMessage(cleanMessage('order 12 at 05:06:07'))).toBe(cleanMessage('order 12 at 05:06:07'));
  });

  test('long and hostile messages are shortened quickly', () => {
    const hostile = [
      'a'.repeat(100_000),
      '1.'.repeat(50_000),
      '"'.repeat(50_000),
      '/a'.repeat(50_000),
      `${'a-'.repeat(4000)}1`,
      '::'.repeat(20_000),
      `https://${'%'.repeat(40_000)}`,
      '\ud800'.repeat(9000),
      `${'\n |'.repeat(9000)}`,
      ',0'.repeat(9000),
      '\\"'.repeat(9000),
      '\n'.repeat(9000),
    ];
    const ms = processorMs(() => {
      for (const raw of hostile) {
        const cleaned = cleanMessage(raw);
        expect(cleaned.length).toBeLessThanOrEqual(500);
        expect(cleaned).not.toMatch(/\p{Surrogate}/u);
      }
    });
    expect(ms).toBeLessThan(2000);
  });
});

test.each([
  ['the reason', { message: 'it broke' }, {}, 'it broke'],
  [
    'the first assertion that failed',
    null,
    {
      assertions: [
        { source: 'STATUS_CODE', property: '', error: null },
        { source: 'HEADERS', property: 'etag', error: 'is missing' },
      ],
    },
    'an assertion failed: HEADERS etag: is missing',
  ],
  ['an error of a script', { message: '' }, { details: { errors: [{ message: 'boom' }] } }, 'boom'],
  [
    'an error of a suite',
    null,
    { details: { tests: [{ errors: [] }, { errors: ['no button'] }] } },
    'no button',
  ],
  ['nothing', null, null, null],
  ['what is of another form', { message: 7 }, { assertions: 'x', details: [] }, null],
])('the raw message is %s', (_what, reason, body, expected) => {
  expect(rawMessageOf({ reason, body })).toBe(expected);
});
