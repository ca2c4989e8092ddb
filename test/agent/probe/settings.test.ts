import { describe, expect, test } from 'vitest';
import { modulesOf } from '../../../src/agent/probe/settings/module-file.ts';
import { durationMs, sizeBytes } from '../../../src/agent/probe/settings/durations.ts';
import { patternOf } from '../../../src/agent/probe/patterns/patterns.ts';
import { anyMatch, expanded, firstMatch } from '../../../src/agent/probe/patterns/matching.ts';

/** PROBE_CONFIG: what is read, and what is refused by its name. */

const file = (prober: string, fields: string) => `modules: {m: {prober: ${prober}, ${prober}: {${fields}}}}`;
const problemOf = async (text: string): Promise<string> =>
  modulesOf(text).then(
    () => 'none',
    (error: unknown) => (error as Error).message,
  );

describe('neither an error nor a warning shows a part of the file', () => {
  test.each([
    [
      '{basic_auth: {username: a, password: walnut-and-hazel',
      /^is not YAML: BAD_INDENT in line \d+, column \d+$/,
    ],
    ['{basic_auth: {password: *walnut-and-hazel}}', /^is not YAML: an alias has no anchor/],
    ['\n      password: >walnut-and-hazel\n', /^is not YAML: [A-Z_]+ in line \d+/],
    ['{password: !walnut-and-hazel!a b}', /^is not YAML: [A-Z_]+ in line \d+/],
    ['{!walnut-and-hazel method: GET}', /^/],
  ])('%s', async (http, problem) => {
    const warned: unknown[] = [];
    const note = (warning: unknown) => warned.push(warning);
    process.on('warning', note);
    const told = await problemOf(`modules:\n  m:\n    prober: http\n    http: ${http}\n`);
    await new Promise(setImmediate);
    process.off('warning', note);
    expect(warned).toEqual([]);
    expect(told).toMatch(problem);
    expect(told).not.toContain('walnut');
  });
});

describe('refused', () => {
  test.each([
    ['http', 'fail_if_body_json_matches_cel: "body."', 'fail_if_body_json_matches_cel is not an expression'],
    ['http', 'fail_if_body_json_matches_cel: ""', 'fail_if_body_json_matches_cel is not an expression'],
    ['http', 'fail_if_body_json_not_matches_cel: "a"', 'CEL: Unknown variable: a'],
    ['http', 'fail_if_body_json_not_matches_cel: [a]', 'fail_if_body_json_not_matches_cel must be a text'],
    ['http', 'oauth2: {client_secret: a}', 'oauth2.client_id is required'],
    ['http', 'oauth2: {client_id: a}', 'oauth2.client_secret or client_secret_file is required'],
    ['http', 'oauth2: {client_id: a, client_secret: b, client_secret_file: c}', 'exclude each other'],
    ['http', 'oauth2: {client_id: a, client_secret: b}', 'oauth2.token_url must be a URL'],
    [
      'http',
      'oauth2: {client_id: a, client_secret: b, token_url: "http://c", x: 1}',
      'oauth2.x is not a field',
    ],
    ['http', 'basic_auth: {username: a}, oauth2: {client_id: a}', 'basic_auth and oauth2 exclude each other'],
    ['http', 'proxy_url: "socks5://a"', 'proxy_url must be a URL such as'],
    ['http', 'proxy_url: "http://"', 'proxy_url must be a URL such as'],
    ['http', 'no_proxy: a.example', 'no_proxy needs proxy_url'],
    ['http', 'proxy_connect_header: {X-A: [b]}', 'proxy_connect_header needs proxy_url or'],
    ['http', 'proxy_url: "http://a", proxy_connect_header: {X-A: ["a\\nb"]}', 'X-A cannot be sent'],
    ['http', 'enable_http3: true', 'enable_http3 is not supported'],
    ['http', 'unknown_field: 1', 'unknown_field is not a field of this object'],
    ['http', 'tls_config: {ca_file: /nowhere}', 'tls_config cannot be used: ENOENT'],
    ['http', 'tls_config: {min_version: SSL3}', 'min_version must be one of TLS10'],
    ['http', 'tls_config: {other: 1}', 'other is not a field'],
    ['http', 'basic_auth: {username: a}, bearer_token: b', 'basic_auth and bearer_token exclude each other'],
    ['http', 'body: a, body_file: b', 'body and body_file exclude each other'],
    ['http', 'compression: zip', 'compression must be one of'],
    ['http', 'compression: gzip, headers: {Accept-Encoding: br}', 'Accept-Encoding does not accept'],
    ['http', 'http_headers: {Host: {values: [a]}}', 'Host is reserved'],
    ['http', 'headers: {A: "a\\nb"}', 'A cannot be sent as a header'],
    ['http', 'method: "GET /"', 'method is not a method'],
    ['http', 'body_size_limit: many', 'body_size_limit must be a size'],
    ['http', 'valid_status_codes: [ok]', 'valid_status_codes must be a list of numbers'],
    ['http', 'fail_if_body_matches_regexp: ["(?=a)"]', 'is a pattern with (?=a, which is not supported'],
    ['http', 'fail_if_body_matches_regexp: ["(a)\\\\1"]', 'back-reference'],
    ['http', 'fail_if_body_matches_regexp: ["("]', 'is not a pattern'],
    ['http', `fail_if_body_matches_regexp: ["${'a?'.repeat(60)}"]`, 'more than 20 optional parts in a row'],
    ['http', 'fail_if_body_matches_regexp: ["[[:constructor:]]"]', 'a pattern with [:constructor:]'],
    ['http', 'fail_if_header_matches: [{regexp: a}]', 'header is required'],
    ['tcp', 'query_response: [{expect: a, expect_bytes: b}]', 'exclude each other'],
    ['tcp', 'query_response: [{wait: 1}]', 'query_response[0].wait is not a field'],
    ['tcp', 'source_ip_address: here', 'source_ip_address is not an address'],
    ['dns', 'query_type: A', 'query_name is required'],
    ['dns', 'query_name: a, query_type: NONE', 'query_type is NONE, which is not a type'],
    ['dns', 'query_name: a, source_ip_address: here', 'source_ip_address is not an address'],
    ['dns', 'query_name: a, query_class: XX', 'query_class must be one of IN, CS'],
    ['dns', 'query_name: a, dns_over_tls: true, transport_protocol: udp', 'must be tcp with dns_over_tls'],
    ['icmp', 'dont_fragment: perhaps', 'dont_fragment must be true or false'],
    ['icmp', 'source_ip_address: here', 'source_ip_address is not an address'],
    ['icmp', 'ttl: -1', 'ttl must be a whole number from 0 to 255'],
    ['icmp', 'ttl: 256', 'ttl must be a whole number from 0 to 255'],
    ['icmp', 'payload_size: 4', 'payload_size must be a whole number from 8 to 1400'],
    ['icmp', 'payload_size: 9000, dont_fragment: true', 'payload_size must be a whole number from 8 to 8972'],
    ['grpc', 'tls: perhaps', 'tls must be true or false'],
  ])('%s: %s', async (prober, fields, problem) => {
    const found = await problemOf(file(prober, fields));
    expect(found).toContain(problem);
    expect(found).toContain(`modules.m.${prober}`);
  });

  test.each([
    ['modules: {m: {prober: unix}}', 'modules.m.prober is "unix", which is not supported'],
    ['modules: {m: {prober: websocket}}', 'modules.m.prober is "websocket", which is not supported'],
    ['modules: {m: {prober: http, timeout: 5}}', 'modules.m.timeout must be a duration'],
    ['modules: {m: {prober: http, other: 5}}', 'modules.m.other is not a field'],
    ['other: {}', 'other is not a field'],
    ['modules: [', 'is not YAML'],
    ['modules: {m: &m {prober: icmp, websocket: *m}}', 'has an anchor that contains itself'],
    ['modules: 5', 'modules must be an object'],
    ['modules: {m: {prober: tcp, http: {nothing: 1}}}', 'modules.m.http.nothing is not a field'],
  ])('%s', async (text, problem) => {
    expect(await problemOf(text)).toContain(problem);
  });

  test('aliases that grow', async () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [name, of] of ['b-a', 'c-b', 'd-c', 'e-d', 'f-e', 'g-f'].map((pair) => pair.split('-')))
      lines.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${of}`).join(', ')}]`);
    expect(await problemOf(lines.join('\n'))).toMatch(/is not YAML|not a field/);
  });
});

test('a module is shown without its secrets', async () => {
  const modules = await modulesOf(`
modules:
  m:
    prober: http
    http:
      basic_auth: {username: monitor, password: very-secret}
      headers: {X-Api-Key: very-secret, Accept: text/html}
      http_headers: {X-Other: {values: [shown], secrets: [very-secret]}}
  tokens:
    prober: http
    http:
      oauth2: {client_id: probes, client_secret: very-secret, token_url: "http://a:very-secret@tokens.example/?k=very-secret", endpoint_params: {assertion: very-secret}}
`);
  const tokens = modules.get('tokens')?.shown ?? '';
  expect(tokens).not.toContain('very-secret');
  for (const text of ['probes', '@tokens.example/', 'assertion']) expect(tokens).toContain(text);
  const { shown } = modules.get('m') ?? { shown: '' };
  expect(shown).not.toContain('very-secret');
  for (const text of ['monitor', 'text/html', 'shown', '<secret>']) expect(shown).toContain(text);
});

test('durations and sizes', () => {
  expect(['500ms', '5s', '1m30s', '1.5s', '0', '5', '1d', 's', '5s '].map(durationMs)).toEqual([
    500,
    5000,
    90_000,
    1500,
    0,
    null,
    null,
    null,
    null,
  ]);
  expect(['10MB', '1KiB', '100', '4B', 'MB', '-1'].map(sizeBytes)).toEqual([
    10 * 1024 * 1024,
    1024,
    100,
    4,
    null,
    null,
  ]);
});

describe('patterns', () => {
  test.each([
    ['(?i)HELLO', 'say hello', true],
    ['a.b', 'a\nb', false],
    ['(?s)a.b', 'a\nb', true],
    ['(?m)^b$', 'a\nb', true],
    ['^b', 'a\nb', false],
    ['a.b', 'a\rb', true],
    ['\\Aab\\z', 'ab', true],
    ['\\Aab\\z', 'ab\n', false],
    ['[[:digit:]]+', 'a1', true],
    ['[^[:space:]]', ' ', false],
    ['\\s', '\u00a0', false],
    ['\\Qa.b\\E', 'a.b', true],
    ['\\Qa.b\\E', 'axb', false],
    ['\\x{1F600}', '😀', true],
    ['\\pL', 'é', true],
    ['\\p{Greek}', 'α', true],
    ['[]a]', ']', true],
    ['[a[]', '[', true],
    ['\\-\\_\\"', '-_"', true],
    ['(?P<name>a)', 'a', true],
    ['(?:a|b)c', 'bc', true],
    ['.*mail.*', 'sample.test.\t300\tIN\tMX\t10 mail.sample.test.', true],
  ])('%s on %j: %s', (pattern, text, expected) => {
    expect(anyMatch([patternOf(pattern)], text)).toBe(expected);
  });

  test.each(['(?U)a', '(?<=a)b', '(?!a)', '(?i:a)', '\\1', '\\C', 'a('])('%s is refused', (pattern) => {
    expect(() => patternOf(pattern)).toThrow();
  });

  test('an endless pattern is stopped', () => {
    const startedAt = performance.now();
    expect(() => anyMatch([patternOf('^(a+)+$')], `${'a'.repeat(50)}!`)).toThrow(/was stopped after/);
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });

  test('groups fill in texts', () => {
    const match = firstMatch(patternOf('^(?P<code>\\d+) (\\w+)'), '220 mail');
    expect(match === null ? null : expanded('${code}/$2/$$/$none/${9}', match)).toBe('220/mail/$//');
  });
});
