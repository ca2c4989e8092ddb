import type { Targets } from '../../../src/targets/targets.ts';

/** Modules and targets of the differential test. docs/probe.md has the same table. */

/** The file for both programs; `ca` is the path of the authority's PEM. */
export const probeFile = (ca: string, proxyPort: number, tokenPort: number): string => `
modules:
  http_2xx: &http
    prober: http
    timeout: 15s
    http: &plain
      preferred_ip_protocol: ip4
      headers: {X-Probe: "1"}
  http_quiet: {prober: http, timeout: 1s, http: *plain}
  tcp_quiet: {prober: tcp, timeout: 1s, tcp: {preferred_ip_protocol: ip4, query_response: [{expect: "^220"}]}}
  http_post: {prober: http, timeout: 15s, http: {<<: *plain, method: POST, body: "a=1"}}
  http_no_redirect: {prober: http, timeout: 15s, http: {<<: *plain, follow_redirects: false, valid_status_codes: [302]}}
  http_404: {prober: http, timeout: 15s, http: {<<: *plain, valid_status_codes: [404, 410]}}
  http_body: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_body_not_matches_regexp: ["(?i)SAMPLE\\\\s+target"]}}
  http_not_body: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_body_matches_regexp: ["sample"]}}
  http_header: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_header_not_matches: [{header: content-type, regexp: "^text/"}]}}
  http_no_header: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_header_matches: [{header: x-none, regexp: ".*", allow_missing: true}]}}
  http_missing: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_header_matches: [{header: x-none, regexp: ".*"}]}}
  http_gzip: {prober: http, timeout: 15s, http: {<<: *plain, compression: gzip, headers: {Accept-Encoding: gzip}}}
  http_br: {prober: http, timeout: 15s, http: {<<: *plain, compression: br, headers: {Accept-Encoding: br}}}
  http_wrong_compression: {prober: http, timeout: 15s, http: {<<: *plain, compression: gzip, headers: {Accept-Encoding: gzip}}}
  http_small: {prober: http, timeout: 15s, http: {<<: *plain, body_size_limit: 4B}}
  http_basic: {prober: http, timeout: 15s, http: {<<: *plain, basic_auth: {username: a, password: very-secret}}}
  http_bearer: {prober: http, timeout: 15s, http: {<<: *plain, authorization: {credentials: very-secret}}}
  http_oauth2: {prober: http, timeout: 15s, http: {<<: *plain, oauth2: {client_id: probes, client_secret: "very secret+", token_url: "http://127.0.0.1:${tokenPort}/header", scopes: [read, list], endpoint_params: {audience: shop}}}}
  http_oauth2_form: {prober: http, timeout: 15s, http: {<<: *plain, oauth2: {client_id: probes, client_secret: "very secret+", token_url: "http://127.0.0.1:${tokenPort}/form", scopes: [read, list], endpoint_params: {audience: shop}}}}
  http_oauth2_refused: {prober: http, timeout: 15s, http: {<<: *plain, oauth2: {client_id: probes, client_secret: wrong, token_url: "http://127.0.0.1:${tokenPort}/header"}}}
  http_version: {prober: http, timeout: 15s, http: {<<: *plain, valid_http_versions: ["HTTP/2.0"]}}
  http_ssl: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_not_ssl: true}}
  http_ip6_only: {prober: http, timeout: 15s, http: {preferred_ip_protocol: ip6, ip_protocol_fallback: false}}
  http_default_ip: {prober: http, timeout: 15s}
  https: {prober: http, timeout: 15s, http: {<<: *plain, tls_config: {ca_file: ${ca}}}}
  https_not_ssl: {prober: http, timeout: 15s, http: {<<: *plain, fail_if_ssl: true, tls_config: {ca_file: ${ca}}}}
  https_insecure: {prober: http, timeout: 15s, http: {<<: *plain, tls_config: {insecure_skip_verify: true}}}
  https_name: {prober: http, timeout: 15s, http: {<<: *plain, tls_config: {ca_file: ${ca}, server_name: other.test}}}
  https_no_http2: {prober: http, timeout: 15s, http: {<<: *plain, enable_http2: false, tls_config: {ca_file: ${ca}}}}
  http_proxy: {prober: http, timeout: 15s, http: {<<: *plain, proxy_url: "http://127.0.0.1:${proxyPort}", tls_config: {ca_file: ${ca}}}}
  http_proxy_names: {prober: http, timeout: 15s, http: {<<: *plain, proxy_url: "http://127.0.0.1:${proxyPort}", skip_resolve_phase_with_proxy: true, tls_config: {ca_file: ${ca}}}}
  tcp: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4}}
  tcp_banner: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, query_response: [{expect: "^220 (\\\\w+)"}, {send: "EHLO \${1}"}, {expect: "^250"}]}}
  tcp_other_banner: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, query_response: [{expect: "^SSH"}]}}
  tcp_echo: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, query_response: [{send: "a"}, {expect: "^a$"}]}}
  tcp_tls: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, tls: true, tls_config: {ca_file: ${ca}}}}
  tcp_tls_system: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, tls: true}}
  tcp_source: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, source_ip_address: 127.0.0.9}}
  tcp_starttls: {prober: tcp, timeout: 15s, tcp: {preferred_ip_protocol: ip4, tls_config: {insecure_skip_verify: true}, query_response: [{expect: "^220"}, {send: STARTTLS}, {expect: "^220"}, {starttls: true}, {send: QUIT}, {expect: "^221"}]}}
  icmp: {prober: icmp, timeout: 15s, icmp: {preferred_ip_protocol: ip4}}
  icmp_ttl: {prober: icmp, timeout: 15s, icmp: {preferred_ip_protocol: ip4, ttl: 3, payload_size: 100}}
  icmp_zero: {prober: icmp, timeout: 15s, icmp: {preferred_ip_protocol: ip4, ttl: 0, payload_size: 0}}
  icmp_source: {prober: icmp, timeout: 15s, icmp: {preferred_ip_protocol: ip4, source_ip_address: 127.0.0.9}}
  icmp_other_source: {prober: icmp, timeout: 2s, icmp: {preferred_ip_protocol: ip4, source_ip_address: 192.0.2.9}}
  icmp_whole: {prober: icmp, timeout: 15s, icmp: {preferred_ip_protocol: ip4, dont_fragment: true, payload_size: 1472}}
  dns_none: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: A, query_class: NONE}}
  dns_a: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: A}}
  dns_soa: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: SOA}}
  dns_source: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, source_ip_address: 127.0.0.9, query_name: sample.test, query_type: A}}
  dns_tcp_source: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, source_ip_address: 127.0.0.9, transport_protocol: tcp, query_name: sample.test, query_type: A}}
  dns_cs: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: A, query_class: CS}}
  dns_tcp: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, transport_protocol: tcp, query_name: sample.test, query_type: MX}}
  dns_nxdomain: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: none.test, query_type: A}}
  dns_expect_nxdomain: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: none.test, query_type: A, valid_rcodes: [NXDOMAIN]}}
  dns_record: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: MX, validate_answer_rrs: {fail_if_not_matches_regexp: ["sample.test.\\t.*\\tIN\\tMX\\t.*"]}}}
  dns_all_match: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: MX, validate_answer_rrs: {fail_if_all_match_regexp: [".*mail.*"]}}}
  dns_none_match: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: MX, validate_answer_rrs: {fail_if_none_matches_regexp: [".*backup.*"]}}}
  dns_no_authority: {prober: dns, timeout: 15s, dns: {preferred_ip_protocol: ip4, query_name: sample.test, query_type: A, validate_authority_rrs: {fail_if_not_matches_regexp: [".*"]}}}
  grpc: {prober: grpc, timeout: 15s, grpc: {preferred_ip_protocol: ip4}}
  grpc_closed: {prober: grpc, timeout: 15s, grpc: {preferred_ip_protocol: ip4, service: closed}}
  grpc_unknown: {prober: grpc, timeout: 15s, grpc: {preferred_ip_protocol: ip4, service: nobody}}
  grpc_tls: {prober: grpc, timeout: 15s, grpc: {preferred_ip_protocol: ip4, tls: true, tls_config: {ca_file: ${ca}}}}
`;

/** Ports of the server that speaks STARTTLS, of nobody, and of the server of tokens. */
export type MorePorts = { startTls: number; closed: number; grpcTls: number; tokens: number };

/** Module, name of the target for the table, and the target. */
export function probeCases(
  { ports }: Pick<Targets, 'ports'>,
  more: MorePorts,
): readonly (readonly [module: string, what: string, target: string])[] {
  const http = `127.0.0.1:${ports.http}`;
  const https = (path = '', port = ports.https) => `https://127.0.0.1:${port}/${path}`;
  const closed = `127.0.0.1:${more.closed}`;
  const dns = `127.0.0.1:${ports.dns}`;
  const grpc = `127.0.0.1:${ports.grpc}`;
  return [
    ['http_2xx', 'a page', http],
    ['http_2xx', 'a page by its name', `http://localhost:${ports.http}/`],
    ['http_2xx', 'three redirects', `http://${http}/redirect/3`],
    ['http_2xx', 'eleven redirects', `http://${http}/redirect/11`],
    ['http_2xx', 'status 404', `http://${http}/status/404`],
    ['http_2xx', 'status 204', `http://${http}/status/204`],
    ['http_2xx', 'a closed port', `http://${closed}`],
    ['http_2xx', 'an unknown name', 'http://nothing.invalid/'],
    ['http_quiet', 'a server that never answers', `http://${http}/never`],
    ['http_2xx', 'a server that resets', `http://${http}/reset`],
    ['http_2xx', 'not HTTP', `http://127.0.0.1:${ports.banner}`],
    ['http_post', 'a page', `http://${http}/ok`],
    ['http_no_redirect', 'a redirect', `http://${http}/redirect/1`],
    ['http_404', 'status 404', `http://${http}/status/404`],
    ['http_404', 'a page', http],
    ['http_body', 'a page with the text', http],
    ['http_body', 'a page without it', `http://${http}/ok`],
    ['http_not_body', 'a page with the text', http],
    ['http_not_body', 'a page without it', `http://${http}/ok`],
    ['http_header', 'a text', http],
    ['http_header', 'JSON', `http://${http}/json`],
    ['http_no_header', 'a page', http],
    ['http_missing', 'a page', http],
    ['http_gzip', 'gzip', `http://${http}/gzip`],
    ['http_br', 'br', `http://${http}/br`],
    ['http_wrong_compression', 'a page', `http://${http}/ok`],
    ['http_small', 'a page above the limit', http],
    ['http_small', 'a page below the limit', `http://${http}/ok`],
    ['http_basic', 'a page', http],
    ['http_bearer', 'a page', http],
    ['http_oauth2', 'a page that needs the token', `http://127.0.0.1:${more.tokens}/page`],
    ['http_oauth2_form', 'a page that needs the token', `http://127.0.0.1:${more.tokens}/page`],
    ['http_oauth2_refused', 'a page that needs the token', `http://127.0.0.1:${more.tokens}/page`],
    ['http_version', 'HTTP/1.1', http],
    ['http_ssl', 'a page', http],
    ['http_ip6_only', 'IPv4', http],
    ['http_default_ip', 'IPv4', http],
    ['https', 'a valid certificate', https()],
    ['https', 'an expired certificate', https('', ports.expired)],
    ['https', 'the certificate of another name', https('', ports.wrongHost)],
    ['https', 'a self-signed certificate', https('', ports.selfSigned)],
    ['https', 'a server without TLS', `https://${http}/`],
    ['https_not_ssl', 'a valid certificate', https()],
    ['https_insecure', 'an expired certificate', https('', ports.expired)],
    ['https_insecure', 'a self-signed certificate', https('', ports.selfSigned)],
    ['https_name', 'the certificate of another name', https()],
    ['https_no_http2', 'a valid certificate', https()],
    ['http_2xx', 'an unknown authority', https()],
    ['http_proxy', 'a page', http],
    ['http_proxy', 'a page by its name', `http://localhost:${ports.http}/`],
    ['http_proxy', 'three redirects', `http://${http}/redirect/3`],
    ['http_proxy', 'a closed port', `http://${closed}`],
    ['http_proxy', 'an unknown name', 'http://nothing.invalid/'],
    ['http_proxy', 'a valid certificate', `https://localhost:${ports.https}/`],
    ['http_proxy', 'an expired certificate', https('', ports.expired)],
    ['http_proxy', 'TLS to a closed port', `https://${closed}`],
    ['http_proxy_names', 'a page by its name', `http://localhost:${ports.http}/`],
    ['http_proxy_names', 'a valid certificate', `https://localhost:${ports.https}/`],
    ['http_proxy_names', 'an unknown name', 'https://nothing.invalid/'],
    ['tcp', 'an open port', `127.0.0.1:${ports.silent}`],
    ['tcp', 'an open port by its name', `localhost:${ports.silent}`],
    ['tcp', 'a closed port', closed],
    ['tcp', 'no port', '127.0.0.1'],
    ['tcp', 'an unknown name', 'nothing.invalid:80'],
    ['tcp_banner', 'a greeting', `127.0.0.1:${ports.banner}`],
    ['tcp_quiet', 'a silent server', `127.0.0.1:${ports.silent}`],
    ['tcp_banner', 'a server that closes', `127.0.0.1:${ports.closing}`],
    ['tcp_other_banner', 'a server that closes', `127.0.0.1:${ports.closing}`],
    ['tcp_echo', 'an echo', `127.0.0.1:${ports.echo}`],
    ['tcp_tls', 'a valid certificate', `127.0.0.1:${ports.https}`],
    ['tcp_tls', 'an expired certificate', `127.0.0.1:${ports.expired}`],
    ['tcp_tls', 'a server without TLS', `127.0.0.1:${ports.http}`],
    ['tcp_tls_system', 'an unknown authority', `127.0.0.1:${ports.https}`],
    ['tcp_source', 'an open port', `127.0.0.1:${ports.silent}`],
    ['tcp_starttls', 'STARTTLS', `127.0.0.1:${more.startTls}`],
    ['icmp', 'this machine', '127.0.0.1'],
    ['icmp', 'an unknown name', 'nothing.invalid'],
    ['icmp_ttl', 'this machine', '127.0.0.1'],
    ['icmp_zero', 'this machine', '127.0.0.1'],
    ['icmp_source', 'this machine', '127.0.0.1'],
    ['icmp_other_source', 'this machine', '127.0.0.1'],
    ['icmp_whole', 'this machine', '127.0.0.1'],
    ['dns_a', 'a name', dns],
    ['dns_a', 'a closed port', closed],
    ['dns_soa', 'the serial number', dns],
    ['dns_source', 'a name', dns],
    ['dns_tcp_source', 'TCP', dns],
    ['dns_cs', 'a name', dns],
    ['dns_none', 'a name', dns],
    ['dns_tcp', 'TCP', dns],
    ['dns_tcp', 'a closed port', closed],
    ['dns_nxdomain', 'an unknown name', dns],
    ['dns_expect_nxdomain', 'an unknown name', dns],
    ['dns_record', 'MX records', dns],
    ['dns_all_match', 'MX records', dns],
    ['dns_none_match', 'MX records', dns],
    ['dns_no_authority', 'no records', dns],
    ['grpc', 'a server that serves', grpc],
    ['grpc_closed', 'a service that does not serve', grpc],
    ['grpc_unknown', 'an unknown service', grpc],
    ['grpc', 'a closed port', closed],
    ['grpc', 'an unknown name', 'nothing.invalid:80'],
    ['grpc', 'not gRPC', http],
    ['grpc_tls', 'a valid certificate', `127.0.0.1:${more.grpcTls}`],
    ['grpc_tls', 'a server without TLS', grpc],
  ];
}
