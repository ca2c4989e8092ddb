import { describe, expect, test } from 'vitest';
import { createRunCookies } from '../../../src/executors/http/cookies.ts';

/** The jar of one run. How it follows redirects is in http-redirects.test.ts. */

const now = Date.parse('2026-03-01T12:00:00Z');

/** The Cookie header for `to` after `from` has set `headers`. */
function sent(from: string, headers: string[], to: string): string | null {
  const jar = createRunCookies();
  jar.keep(new URL(from), headers, now);
  return jar.headerFor(new URL(to));
}

test.each([
  [
    'a host without a dot',
    'http://intranet/',
    'a=1; Domain=intranet',
    'http://intranet/x',
    'http://x.intranet/',
  ],
  [
    'an IPv4 address',
    'http://10.0.0.1/',
    'a=1; Domain=10.0.0.1',
    'http://10.0.0.1/x',
    'http://1.10.0.0.1.test/',
  ],
  ['an IPv6 address', 'http://[fd00::1]/', 'a=1', 'http://[fd00::1]/x', 'http://[fd00::2]/'],
  [
    'a name that only the private network has',
    'http://a.corp/',
    'a=1; Domain=a.corp',
    'http://b.a.corp/',
    'http://corp/',
  ],
  [
    'a name of a cluster',
    'http://a.ns.svc/',
    'a=1; Domain=ns.svc',
    'http://b.ns.svc/',
    'http://b.other.svc/',
  ],
  ['another port', 'http://a.test:1/', 'a=1', 'http://a.test:2/', 'http://b.test:1/'],
])('cookies go back to %s, and not further', (_name, from, header, to, elsewhere) => {
  expect([sent(from, [header], to), sent(from, [header], elsewhere)]).toEqual(['a=1', null]);
});

test.each([
  ['a public suffix', 'http://shop.co.uk/', 'a=1; Domain=co.uk'],
  ['a top-level domain', 'http://shop.internal/', 'a=1; Domain=internal'],
  ['a host below its own', 'http://a.corp/', 'a=1; Domain=b.a.corp'],
  ['an end of its name that is no domain', 'http://shop.corp/', 'a=1; Domain=op.corp'],
  ['no name', 'http://a.test/', '=1'],
  ['no equals sign', 'http://a.test/', 'a'],
])('a cookie is refused for %s', (_name, from, header) => {
  expect(sent(from, [header], from)).toBeNull();
});

test('a Secure cookie is sent only over https, also on loopback, regardless of the scheme that set it', () => {
  for (const host of ['a.test', 'localhost', '127.0.0.1']) {
    for (const scheme of ['http', 'https']) {
      const from = `${scheme}://${host}/`;
      expect(sent(from, ['a=1; Secure'], `https://${host}/`)).toBe('a=1');
      expect(sent(from, ['a=1; Secure'], `http://${host}/`)).toBeNull();
    }
  }
});

test.each([
  ['a=1; Path=/x', '/x/y', 'a=1'],
  ['a=1; Path=/x', '/xy', null],
  ['a=1', '/dir/other', 'a=1'],
  ['a=1', '/other', null],
  ['a=1; Path=/a%20b', '/a%20b/c', 'a=1'],
  ['a=1; Path=/%zz', '/%zz/c', 'a=1'],
])('%s, set by /dir/page, for %s: %s', (header, path, expected) => {
  expect(sent('http://a.test/dir/page', [header], `http://a.test${path}`)).toBe(expected);
});

test('cookies are sorted by path length, then by the order in which they were set', () => {
  const headers = ['a=1; Path=/', 'b=2; Path=/x', 'c=3; Path=/'];
  expect(sent('http://a.test/', headers, 'http://a.test/x')).toBe('b=2; a=1; c=3');
});

test('values stay as they are, with quotes, equals signs and bytes beyond ASCII', () => {
  expect(sent('http://a.test/', ['a="x y"', 'b=c=d==', 'e=\u00e4', 'f='], 'http://a.test/')).toBe(
    'a="x y"; b=c=d==; e=\u00e4; f=',
  );
});

describe('expiry', () => {
  test.each([
    ['a=2; Max-Age=0', null],
    ['a=2; Max-Age=-1', null],
    ['a=2; Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'a=2'],
    ['a=2; Max-Age=x', 'a=2'],
    ['a=2; Expires=Sun, 01 Mar 2026 12:00:00 GMT', null],
    ['a=2; Expires=Sun, 01 Mar 2026 12:00:01 GMT', 'a=2'],
    ['a=2; Expires=Sunday, 01-Mar-26 11:59:59 GMT', null],
    ['a=2; Expires=never', 'a=2'],
  ])('by the clock of the run: %s replaces a=1 and leaves %s', (header, expected) => {
    expect(sent('http://a.test/', ['a=1', header], 'http://a.test/')).toBe(expected);
  });
});

test('at most 50 cookies are kept; they can be changed, and an expired one makes room', () => {
  const jar = createRunCookies();
  const url = new URL('http://a.test/');
  const names = () => (jar.headerFor(url) ?? '').split('; ');
  const many = Array.from({ length: 60 }, (_, index) => `n${index}=1`);
  jar.keep(url, many, now);
  expect(names()).toEqual(many.slice(0, 50));
  jar.keep(url, ['n0=2', 'late=1', 'n1=1; Max-Age=0', 'room=1'], now);
  expect(names()).toHaveLength(50);
  expect(names()).toEqual(['n0=2', ...many.slice(2, 50), 'room=1']);
});

test('a header of more than 4 KiB is not kept', () => {
  const fits = `a=${'x'.repeat(4094)}`;
  expect(sent('http://a.test/', [fits, `b=${'x'.repeat(4095)}`], 'http://a.test/')).toBe(fits);
});

test.each(['test', 'local', 'example', '.test'])(
  'a host that is only a reserved name, %s, is no error',
  (host) => {
    expect(sent(`http://${host}/`, ['a=1'], `http://${host}/x`)).toBeNull();
  },
);
