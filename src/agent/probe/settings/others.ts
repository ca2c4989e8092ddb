import { typeNumber } from '../../../executors/dns/types.ts';
import { queryName } from '../../../executors/dns/query-name.ts';
import type { ProbeFields } from './fields.ts';
import { ipSettings, sourceAddress, type IpSettings } from './ip.ts';
import type { Pattern } from '../patterns/patterns.ts';
import { tlsSettings, type TlsSettings } from './tls.ts';

/** The objects `tcp`, `dns`, `icmp` and `grpc` of modules. */

export type Step = {
  readonly expect: Pattern | null;
  readonly expectBytes: Buffer | null;
  readonly labels: readonly { name: string; value: string }[];
  readonly send: string;
  readonly startTls: boolean;
};
export type TcpSettings = {
  readonly ip: IpSettings;
  readonly source: string | null;
  readonly steps: readonly Step[];
  readonly tls: boolean;
  readonly tlsConfig: TlsSettings;
};

export function tcpSettings(fields: ProbeFields): TcpSettings {
  const steps = fields.list('query_response').map((_, index) => stepOf(fields.item('query_response', index)));
  const settings = {
    ip: ipSettings(fields),
    source: sourceAddress(fields),
    steps,
    tls: fields.flag('tls', false),
    tlsConfig: tlsSettings(fields),
  };
  fields.end();
  return settings;
}

function stepOf(fields: ProbeFields): Step {
  const expect = fields.pattern('expect');
  const bytes = fields.text('expect_bytes');
  if (expect !== null && bytes !== '') fields.fail('expect', 'and expect_bytes exclude each other');
  const labels = fields.list('labels').map((_, index) => {
    const one = fields.item('labels', index);
    const label = { name: one.text('name'), value: one.text('value') };
    one.end();
    if (!/^[a-zA-Z_]\w*$/.test(label.name)) one.fail('name', 'is not a name of a label');
    return label;
  });
  const step = {
    expect,
    expectBytes: bytes === '' ? null : Buffer.from(bytes),
    labels,
    send: fields.text('send'),
    startTls: fields.flag('starttls', false),
  };
  fields.end();
  return step;
}

export type RecordRules = {
  readonly failIfMatches: readonly Pattern[];
  readonly failIfAllMatch: readonly Pattern[];
  readonly failIfNotMatches: readonly Pattern[];
  readonly failIfNoneMatches: readonly Pattern[];
};
export type DnsSettings = {
  readonly ip: IpSettings;
  readonly sourceAddress: string | null;
  readonly transport: 'udp' | 'tcp';
  readonly overTls: boolean;
  readonly tlsConfig: TlsSettings;
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly recursionDesired: boolean;
  readonly validRcodes: readonly string[];
  readonly answer: RecordRules;
  readonly authority: RecordRules;
  readonly additional: RecordRules;
};

const classes = { IN: 1, CS: 2, CH: 3, HS: 4, NONE: 254, ANY: 255 } as const;

export function dnsSettings(fields: ProbeFields): DnsSettings {
  const typeText = fields.text('query_type', 'ANY');
  const nameText = fields.text('query_name');
  if (nameText === '') fields.fail('query_name', 'is required');
  const overTls = fields.flag('dns_over_tls', false);
  const transport = fields.oneOf('transport_protocol', ['udp', 'tcp'], overTls ? 'tcp' : 'udp');
  if (overTls && transport === 'udp') fields.fail('transport_protocol', 'must be tcp with dns_over_tls');
  const klass = fields.oneOf('query_class', ['IN', 'CS', 'CH', 'HS', 'NONE', 'ANY'], 'IN');
  const settings: DnsSettings = {
    ip: ipSettings(fields),
    sourceAddress: sourceAddress(fields),
    transport,
    overTls,
    tlsConfig: tlsSettings(fields),
    name: nameText === '.' ? '.' : (queryName(nameText, 'A') ?? fields.fail('query_name', 'is not a name')),
    type: typeNumber(typeText) ?? fields.fail('query_type', `is ${typeText}, which is not a type`),
    class: classes[klass],
    recursionDesired: fields.flag('recursion_desired', true),
    validRcodes: fields.has('valid_rcodes') ? fields.texts('valid_rcodes') : ['NOERROR'],
    answer: recordRules(fields.object('validate_answer_rrs')),
    authority: recordRules(fields.object('validate_authority_rrs')),
    additional: recordRules(fields.object('validate_additional_rrs')),
  };
  fields.take('valid_rcodes');
  fields.end();
  return settings;
}

function recordRules(fields: ProbeFields): RecordRules {
  const rules = {
    failIfMatches: fields.patterns('fail_if_matches_regexp'),
    failIfAllMatch: fields.patterns('fail_if_all_match_regexp'),
    failIfNotMatches: fields.patterns('fail_if_not_matches_regexp'),
    failIfNoneMatches: fields.patterns('fail_if_none_matches_regexp'),
  };
  fields.end();
  return rules;
}

export type IcmpSettings = {
  readonly ip: IpSettings;
  readonly source: string | null;
  readonly dontFragment: boolean;
  readonly payloadBytes: number;
  readonly ttl: number;
};

export function icmpSettings(fields: ProbeFields): IcmpSettings {
  const dontFragment = fields.flag('dont_fragment', false);
  const settings = {
    ip: ipSettings(fields),
    source: sourceAddress(fields),
    dontFragment,
    payloadBytes: payloadOf(fields, dontFragment ? 8972 : 1400),
    // 0 is the default, as for the other program.
    ttl: fields.integer('ttl', { min: 0, max: 255, fallback: 0 }) || 64,
  };
  fields.end();
  return settings;
}

function payloadOf(fields: ProbeFields, max: number): number {
  // The length of the other program's text.
  if (fields.take('payload_size') === 0) return 28;
  // A reply is recognised by eight bytes of its payload.
  return fields.integer('payload_size', { min: 8, max, fallback: 28 });
}

export type GrpcSettings = {
  readonly ip: IpSettings;
  readonly service: string;
  readonly tls: boolean;
  readonly tlsConfig: TlsSettings;
  readonly metadata: readonly { key: string; value: string }[];
};

export function grpcSettings(fields: ProbeFields): GrpcSettings {
  const metadata = fields.object('metadata');
  const settings = {
    ip: ipSettings(fields),
    service: fields.text('service'),
    tls: fields.flag('tls', false),
    tlsConfig: tlsSettings(fields),
    metadata: metadata.names().flatMap((key) => metadata.texts(key).map((value) => ({ key, value }))),
  };
  fields.end();
  return settings;
}
