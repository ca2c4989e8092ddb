import { describe, expect, test } from 'vitest';
import { isExempt, proxyFor } from '../../../src/agent/link/proxy-choice.ts';
import { Secret } from '../../../src/secrets/secret.ts';

describe('NO_PROXY', () => {
  test.each([
    ['exact', 'http://monitor.example.org', 'monitor.example.org', true],
    ['another host', 'http://monitor.example.org', 'example.net', false],
    ['upper case in the list', 'http://monitor.example.org', 'Monitor.Example.ORG', true],
    ['upper case in the target', 'http://MONITOR.example.org', 'monitor.example.org', true],
    ['everything', 'https://anything.test', '*', true],
    ['leading dot and subdomain', 'https://a.example.org', '.example.org', true],
    ['leading dot and the domain itself', 'https://example.org', '.example.org', true],
    ['wildcard and subdomain', 'https://a.example.org', '*.example.org', true],
    ['wildcard and the domain itself', 'https://example.org', '*.example.org', false],
    ['a suffix is no subdomain', 'https://myexample.org', 'example.org', false],
    ['a suffix behind a dot neither', 'https://myexample.org', '.example.org', false],
    ['bare domain and subdomain', 'https://a.b.example.org', 'example.org', true],
    ['the same port', 'http://example.org:8080', 'example.org:8080', true],
    ['another port', 'http://example.org:8081', 'example.org:8080', false],
    ['default port of https', 'https://example.org', 'example.org:443', true],
    ['default port of http', 'http://example.org', 'example.org:80', true],
    ['default port of the other scheme', 'https://example.org', 'example.org:80', false],
    ['a whole URL', 'https://example.org', 'https://example.org/path', true],
    ['a whole URL with another port', 'https://example.org', 'https://example.org:8443', false],
    ['several', 'https://b.test', 'a.test,b.test,c.test', true],
    ['blanks around', 'https://b.test', ' a.test ,  b.test ', true],
    ['blanks as separators', 'https://b.test', 'a.test b.test', true],
    ['an address', 'http://127.0.0.1:4400', '127.0.0.1', true],
    ['another address', 'http://127.0.0.1:4400', '127.0.0.2', false],
    ['a block', 'http://10.1.2.3', '10.0.0.0/8', true],
    ['outside of the block', 'http://11.1.2.3', '10.0.0.0/8', false],
    ['a block that is none', 'http://10.1.2.3', '10.0.0.0/99', false],
    ['IPv6', 'http://[::1]:4400', '::1', true],
    ['IPv6 in brackets with a port', 'http://[::1]:4400', '[::1]:4400', true],
    ['IPv6 written at length', 'http://[fd00::1]', 'fd00:0:0:0:0:0:0:1', true],
    ['IPv6 block', 'http://[fd00::1]', 'fd00::/8', true],
    ['IPv6 with a zone', 'http://[fe80::1]', 'fe80::1%eth0', true],
    ['another IPv6 address than that with a zone', 'http://[::1]', 'fe80::1%eth0', false],
    ['IPv6 block with a zone', 'http://[fe80::2]', 'fe80::1%eth0/64', true],
    ['root dot', 'http://example.org.', 'example.org', true],
    ['empty list', 'http://example.org', '', false],
    ['only separators', 'http://example.org', ' , ,', false],
  ])('%s', (_name, target, noProxy, expected) => {
    expect(isExempt(new URL(target), noProxy)).toBe(expected);
  });
});

describe('which proxy', () => {
  const plain = new Secret('http://plain.test:3128');
  const secure = new Secret('http://secure.test:3128');
  const chosen = (target: string, http: Secret | null, https: Secret | null, noProxy = '') =>
    proxyFor(new URL(target), { httpProxy: http, httpsProxy: https, noProxy })?.hostname ?? null;

  test.each([
    ['https://s.test', plain, secure, '', 'secure.test'],
    ['https://s.test', plain, null, '', 'plain.test'],
    ['http://s.test', plain, secure, '', 'plain.test'],
    ['http://s.test', null, secure, '', null],
    ['https://s.test', null, null, '', null],
    ['https://s.test', plain, secure, 's.test', null],
  ])('%s', (target, http, https, noProxy, expected) => {
    expect(chosen(target, http, https, noProxy)).toBe(expected);
  });
});
