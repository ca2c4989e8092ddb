import { expect, test } from 'vitest';
import { likelySecrets } from '../../src/secrets/likely-secrets.ts';
import { processorMs } from '../helpers/processor-time.ts';

const pem = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIBOgIBAAJBAKj34'.repeat(4)}\n-----END RSA PRIVATE KEY-----`;
const jwt = `eyJ${'hbGciOiJIUzI1NiJ9'}.eyJ${'zdWIiOiIxMjM0NTY3'}.${'SflKxwRJSMeKKF2QT4fw'}`;

test.each([
  ['private key', `key:\n${pem}\n`, pem],
  ['JSON web token', `got ${jwt} back`, jwt],
  ['bearer token', 'Authorization: Bearer abcdef0123456789abcdef', 'abcdef0123456789abcdef'],
  ['basic credentials', 'authorization: Basic dXNlcjpwYXNzd29yZA==', 'dXNlcjpwYXNzd29yZA=='],
  ['access key id', 'id=AKIAABCDEFGHIJKLMNOP.', 'AKIAABCDEFGHIJKLMNOP'],
  ['prefixed token', 'use ghp_abcdefghij0123456789 here', 'ghp_abcdefghij0123456789'],
  ['password in a URL', 'postgres://me:hunter22@db/x', 'hunter22'],
  ['assignment', '{"password":"correct-horse"}', 'correct-horse'],
  ['assignment', 'api_key = correct-horse', 'correct-horse'],
])('%s', (kind, text, value) => {
  expect(likelySecrets(text)).toContainEqual({ kind, value });
});

test('ordinary text, places for secrets and masks are none', () => {
  const text =
    'the password is wrong; token: undefined; password=********* secret: process.env.SECRET token=$TOKEN_VALUE ' +
    'api_key: your-key-here, basic knowledge, bearer of news';
  expect(likelySecrets(text)).toEqual([]);
});

test('returns at most the requested number, each once, and handles hostile text quickly', () => {
  const many = Array.from({ length: 300 }, (_, i) => `token=value-number-${i}`).join('\n');
  expect(likelySecrets(many, 5)).toHaveLength(5);
  expect(likelySecrets('token=same-value-1 token=same-value-1')).toHaveLength(1);
  const hostile =
    '-----BEGIN PRIVATE KEY-----'.repeat(2000) + 'eyJ'.repeat(20_000) + 'password='.repeat(10_000);
  expect(processorMs(() => void likelySecrets(hostile))).toBeLessThan(5000);
});
