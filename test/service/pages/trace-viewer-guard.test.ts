import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { guard } from '../../../src/service/pages/trace-viewer.ts';

/** The policy of what the trace viewer's service worker answers. */

test('answers of the viewer keep their policy, and recorded ones never bring their own', () => {
  const self = { Response };
  runInNewContext(guard, { self, Headers });
  const policyOf = (headers?: Headers | Record<string, string>) =>
    new self.Response('', headers === undefined ? {} : { headers }).headers.get('content-security-policy');
  const nothing = "default-src 'none'; sandbox";
  const own = { 'Content-Security-Policy': "script-src 'nonce-1'" };
  expect(policyOf(own)).toBe("script-src 'nonce-1'");
  expect(policyOf({})).toBe(nothing);
  expect(policyOf()).toBe(nothing);
  expect(policyOf(new Headers({ 'content-security-policy': 'script-src *' }))).toBe(nothing);
});
