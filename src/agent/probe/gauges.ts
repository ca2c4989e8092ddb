/** The metrics of one probe, in Prometheus's text format. */

const help = {
  probe_success: 'Whether the probe was a success',
  probe_duration_seconds: 'Time of the whole probe in seconds',
  probe_timeout_seconds: 'Time limit of the probe in seconds',
  probe_dns_lookup_time_seconds: 'Time of the lookup of the name in seconds',
  probe_ip_protocol: 'IP version of the probe: 4 or 6; 0 = the name was not resolved',
  probe_ip_addr_hash: 'Hash of the address (FNV-1a); it changes when the address does',
  probe_http_duration_seconds: 'Time by phase in seconds, over all redirects',
  probe_http_status_code: 'Status of the answer; 0 = there was none',
  probe_http_version: 'Version of HTTP of the answer',
  probe_http_redirects: 'Number of redirects',
  probe_http_ssl: 'Whether the last answer came over TLS',
  probe_http_content_length: 'Content-Length of the answer; -1 = unknown',
  probe_http_uncompressed_body_length: 'Bytes of the body after decompression',
  probe_http_last_modified_timestamp_seconds: 'Last-Modified of the answer',
  probe_failed_due_to_regex: 'Whether the probe failed because of a pattern',
  probe_failed_due_to_cel: 'Whether the probe failed because of an expression of CEL',
  probe_failed_due_to_bytes: 'Whether the probe failed because of expected bytes',
  probe_expect_info: 'Labels of the steps that matched',
  probe_ssl_earliest_cert_expiry: 'The earliest expiry of all certificates that were presented, in unix time',
  probe_ssl_last_chain_expiry_timestamp_seconds: 'Expiry of the verified chain, in unix time',
  probe_ssl_last_chain_info: "Facts about the server's certificate",
  probe_tls_version_info: 'Version of TLS of the connection',
  probe_tls_cipher_info: 'Cipher of the connection',
  probe_dns_duration_seconds: 'Time by phase in seconds',
  probe_dns_answer_rrs: 'Records in the answer section',
  probe_dns_authority_rrs: 'Records in the authority section',
  probe_dns_additional_rrs: 'Records in the additional section',
  probe_dns_query_succeeded: 'Whether an answer came',
  probe_dns_serial: 'Serial number of the zone',
  probe_icmp_duration_seconds: 'Time by phase in seconds',
  probe_icmp_reply_hop_limit: 'Hop limit of the reply',
  probe_grpc_duration_seconds: 'Time by phase in seconds',
  probe_grpc_ssl: 'Whether the call used TLS',
  probe_grpc_status_code: 'Status of the call',
  probe_grpc_healthcheck_response: 'Answer of the health service: 1 for the current status',
} as const;
export type GaugeName = keyof typeof help;
type Labels = { readonly [label: string]: string };

const names = (Object.keys(help) as GaugeName[]).toSorted(); // its own keys
const heads = new Map(names.map((name) => [name, `# HELP ${name} ${help[name]}\n# TYPE ${name} gauge\n`]));

/** Collects values; a value with the same labels replaces the one before. */
export class Gauges {
  readonly #values = new Map<GaugeName, Map<string, number>>();

  set(name: GaugeName, value: number, labels?: Labels): void {
    let series = this.#values.get(name);
    if (series === undefined) this.#values.set(name, (series = new Map()));
    series.set(labels === undefined ? '' : labelText(labels), value);
  }

  /** The phases of a duration, which stay 0 until something is added. */
  phases(name: GaugeName, ...phases: readonly string[]): void {
    for (const phase of phases) this.set(name, 0, { phase });
  }

  text(): string {
    let page = '';
    for (const name of names) {
      const series = this.#values.get(name);
      if (series === undefined) continue;
      page += heads.get(name) ?? '';
      for (const [labels, value] of series) page += `${name}${labels} ${value}\n`;
    }
    return page;
  }
}

function labelText(labels: Labels): string {
  const texts = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return texts.length === 0 ? '' : `{${texts.toSorted().join(',')}}`;
}

const escaped = (value: string): string =>
  /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value;
