import { parse } from 'yaml';
import { isFields } from '../../../../src/json-values.ts';
import { ProbeConfigError } from '../../../../src/agent/probe/settings/fields.ts';
import { modulesOf, type ProbeModule } from '../../../../src/agent/probe/settings/module-file.ts';

/** The file of PROBE_CONFIG: it is read, or refused with the name of the field. */

export const name = 'probe-config';

/** Throws if a text is neither read nor refused as documented, or if a module shows a password. */
export async function run(data: Buffer): Promise<void> {
  let modules: ReadonlyMap<string, ProbeModule>;
  try {
    modules = await modulesOf(data.toString());
  } catch (error) {
    if (!(error instanceof ProbeConfigError)) throw error;
    return;
  }
  for (const { timeoutMs, shown, ...module } of modules.values()) {
    if (timeoutMs !== null && !(timeoutMs > 0)) throw new Error(`a time limit of ${timeoutMs} ms`);
    if (showsSecret(parse(shown))) throw new Error(`a secret is shown in ${shown}`);
    if (module.prober === 'http') {
      const { validStatusCodes, maxBytes } = module.settings;
      if (!(maxBytes >= 0) || !validStatusCodes.every(Number.isInteger)) throw new Error('numbers of http');
    }
    if (module.prober === 'tcp') {
      for (const { labels, expect } of module.settings.steps) {
        if (labels.some((label) => !/^\w+$/.test(label.name))) throw new Error('the name of a label');
        // What is no function of the pattern's text would be in the expression.
        if (
          expect !== null &&
          /native code/.test(expect.expression.source) &&
          !/native code/.test(expect.text)
        )
          throw new Error(`the pattern ${expect.text} became ${expect.expression.source}`);
      }
    }
  }
}

/** Whether a field with a secret has a text of its own. */
function showsSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(showsSecret);
  if (!isFields(value)) return false;
  return Object.entries(value).some(([field, one]) =>
    field === 'password' || field === 'credentials'
      ? typeof one === 'string' && one !== '<secret>'
      : showsSecret(one),
  );
}

export const seeds = (): string[] => [
  'modules:\n  http_2xx:\n    prober: http\n    timeout: 1m30s\n    http:\n      valid_status_codes: [200, 204]\n      valid_http_versions: ["HTTP/1.1"]\n      method: POST\n      headers: {Host: shop.test, Accept-Encoding: "gzip;q=0, *"}\n      compression: br\n      body: \'{}\'\n      body_size_limit: 10MiB\n      fail_if_body_matches_regexp: ["(?i)err[[:digit:]]+\\\\d"]\n      fail_if_header_not_matches: [{header: Server, regexp: "^x", allow_missing: true}]\n',
  'modules:\n  auth:\n    prober: http\n    http:\n      basic_auth: {username: shop, password: walnut-4711}\n      http_headers: {X-Key: {secrets: [walnut-4711], values: [a]}}\n      proxy_url: http://user:walnut@proxy.test:3128\n      no_proxy: .test\n      proxy_connect_header: {X-A: [b]}\n      no_follow_redirects: false\n',
  'modules:\n  token:\n    prober: http\n    http: {authorization: {type: Bearer, credentials: walnut-4711}, tls_config: {insecure_skip_verify: true, min_version: TLS10, server_name: a}}\n',
  'modules:\n  smtp:\n    prober: tcp\n    tcp:\n      source_ip_address: 127.0.0.1\n      query_response:\n        - expect: "^220 (?P<name>[^ ]+) ESMTP (.+)$"\n          labels: [{name: host, value: "${1}"}]\n        - send: "EHLO ${name}"\n        - {expect_bytes: "250", starttls: true}\n',
  'modules:\n  zone:\n    prober: dns\n    timeout: 500ms\n    dns: {query_name: shop.test, query_type: SOA, query_class: CH, transport_protocol: tcp, dns_over_tls: true, valid_rcodes: [NOERROR, 3], validate_answer_rrs: {fail_if_not_matches_regexp: ["shop\\\\.test\\\\.\\\\t\\\\x{41}"]}}\n',
  'modules:\n  json: {prober: http, http: {fail_if_body_json_not_matches_cel: "body.a.exists(x, x.b == 1) && body.s.matches(\'^a\')", fail_if_body_json_matches_cel: "size(body.l) > 2u"}}\n',
  'modules:\n  ping: &ping {prober: icmp, icmp: {preferred_ip_protocol: ip4, payload_size: 64, ttl: 3}}\n  again: {<<: *ping, timeout: 5s}\n',
  'modules:\n  health: {prober: grpc, grpc: {service: shop, tls: true, tls_config: {ca: x}, metadata: {authorization: [Bearer walnut]}}}\n',
  'modules: {a: {prober: tcp, tcp: {query_response: [{expect: "[[:upper:]][^[:space:]]\\\\QA.B\\\\E\\\\pL\\\\p{Greek}"}]}}}',
  'modules: {a: &a {prober: icmp, websocket: *a}}',
  'modules: {a: {prober: tcp, tcp: {query_response: [{expect: "[[:constructor:]]"}]}}}',
  'modules:\n',
];

export const dictionary = [
  'prober: ',
  'timeout: ',
  'tls_config: ',
  'expect: ',
  'regexp: ',
  'headers: ',
  'labels: ',
  '<<: ',
  '&a ',
  '*a',
  '!!binary ',
  '!!timestamp ',
  '? ',
  '- ',
  '\n  ',
  '{',
  '}',
  '[',
  ']',
  '[[:',
  ':]]',
  '(?P<',
  '(?s)',
  '\\Q',
  '\\x{',
  '\\p{',
  '__proto__: ',
  'constructor: ',
  'toString',
  '0x7fffffff',
  '.inf',
  '.nan',
  '~',
  '|\n',
];
