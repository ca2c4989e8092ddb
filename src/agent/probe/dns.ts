import { randomInt } from 'node:crypto';
import { recordLine } from '../../executors/dns/answer.ts';
import { encodeQuery, type DnsMessage, type DnsQuery, type DnsRecord } from '../../executors/dns/message.ts';
import { presentRdata } from '../../executors/dns/rdata.ts';
import { exchangeStream } from '../../executors/dns/stream.ts';
import { rcodeName } from '../../executors/dns/types.ts';
import { exchangeUdp } from '../../executors/dns/udp.ts';
import type { ResolvedAddress } from '../../executors/interface/network.ts';
import { connectTcp } from '../../executors/tcp/connect.ts';
import { lookUp, messageOf } from './address.ts';
import { secureConnection } from './certificates.ts';
import { hostPort } from './host-port.ts';
import { anyMatch } from './patterns/matching.ts';
import type { Prober, ProbeRun } from './run.ts';
import type { DnsSettings, RecordRules } from './settings/others.ts';

const soa = 6;
/** UDP loses datagrams; the other program sends one, and so does this. */
const noResends: readonly number[] = [];

/** Asks the server that the target names. */
export const probeDns: Prober<DnsSettings> = async (settings, run) => {
  const { gauges, log } = run;
  const phase = (name: string, ms: number) =>
    gauges.set('probe_dns_duration_seconds', ms / 1000, { phase: name });
  gauges.phases('probe_dns_duration_seconds', 'resolve', 'connect', 'request');
  for (const name of ['answer', 'authority', 'additional'] as const) gauges.set(`probe_dns_${name}_rrs`, 0);
  gauges.set('probe_dns_query_succeeded', 0);
  const server = hostPort(run.target, settings.overTls ? 853 : 53);
  if (server === null) {
    log('The target is not host[:port]');
    return false;
  }
  const resolving = performance.now();
  const address = await lookUp(server.host, settings.ip, run);
  phase('resolve', performance.now() - resolving);
  if (address === null) return false;
  const query = encodeQuery({
    id: randomInt(0x10000),
    name: settings.name,
    type: settings.type,
    class: settings.class,
    recursionDesired: settings.recursionDesired,
    edns: false,
  });
  let message: DnsMessage;
  try {
    message = await ask(settings, { run, address, server, query, phase });
  } catch (error: unknown) {
    log('The query failed', { err: messageOf(error) });
    return false;
  }
  gauges.set('probe_dns_answer_rrs', message.answers.length);
  gauges.set('probe_dns_authority_rrs', message.authorities.length);
  gauges.set('probe_dns_additional_rrs', message.additionals.length + (message.edns === null ? 0 : 1));
  gauges.set('probe_dns_query_succeeded', 1);
  if (settings.type === soa) setSerial(message, run);
  const rcode = rcodeName(message.rcode);
  log('Got an answer', { rcode });
  if (!settings.validRcodes.includes(rcode)) {
    log('The rcode is not one of valid_rcodes', { rcode });
    return false;
  }
  return (
    holds(message, message.answers, { rules: settings.answer, section: 'answer', run }) &&
    holds(message, message.authorities, { rules: settings.authority, section: 'authority', run }) &&
    holds(message, message.additionals, { rules: settings.additional, section: 'additional', run })
  );
};

type Asking = {
  run: ProbeRun;
  address: ResolvedAddress;
  server: { host: string; port: number };
  query: DnsQuery;
  phase: (name: string, ms: number) => void;
};

async function ask(
  settings: DnsSettings,
  { run, address, server, query, phase }: Asking,
): Promise<DnsMessage> {
  const { signal } = run;
  const from = settings.sourceAddress === null ? {} : { localAddress: settings.sourceAddress };
  let startedAt = performance.now();
  if (settings.transport === 'udp') {
    const progress = { tries: 0, ignored: 0, lastMismatch: null };
    try {
      return await exchangeUdp({ address: address.address, port: server.port }, query, {
        signal,
        resendAtMs: noResends,
        progress,
        ...from,
      });
    } finally {
      phase('request', performance.now() - startedAt);
    }
  }
  const socket = await connectTcp(
    { addresses: [address], port: server.port },
    { signal, attempts: [], ...from },
  );
  socket.on('error', () => undefined);
  try {
    const stream = settings.overTls
      ? await secureConnection(socket, settings.tlsConfig, { host: server.host, signal })
      : socket;
    phase('connect', performance.now() - startedAt);
    startedAt = performance.now();
    const { answer } = await exchangeStream(stream, query, signal);
    phase('request', performance.now() - startedAt);
    return answer;
  } finally {
    socket.destroy();
  }
}

function setSerial({ bytes, answers }: DnsMessage, { gauges }: ProbeRun): void {
  gauges.set('probe_dns_serial', 0);
  const record = answers.find(({ type }) => type === soa);
  const serial = record === undefined ? undefined : presentRdata(bytes, record).split(/\s+/)[2];
  if (serial !== undefined) gauges.set('probe_dns_serial', Number(serial));
}

/** Whether the records of a section are valid, by the rules as the other program applies them. */
function holds(
  { bytes }: DnsMessage,
  records: readonly DnsRecord[],
  { rules, section, run }: { rules: RecordRules; section: string; run: ProbeRun },
): boolean {
  const { failIfMatches, failIfAllMatch, failIfNotMatches, failIfNoneMatches } = rules;
  const fail = (rule: string, record?: string) => {
    run.log('A record is not valid', { section, rule, record });
    return false;
  };
  if (records.length === 0 && failIfNotMatches.length > 0) return fail('fail_if_not_matches_regexp');
  if (records.length === 0 && failIfNoneMatches.length > 0) return fail('fail_if_none_matches_regexp');
  let allMatch = true;
  let someMatch = false;
  for (const line of records.map((record) => recordLine(bytes, record))) {
    if (failIfMatches.some((pattern) => anyMatch([pattern], line)))
      return fail('fail_if_matches_regexp', line);
    if (failIfAllMatch.some((pattern) => !anyMatch([pattern], line))) allMatch = false;
    if (failIfNotMatches.some((pattern) => !anyMatch([pattern], line)))
      return fail('fail_if_not_matches_regexp', line);
    if (anyMatch(failIfNoneMatches, line)) someMatch = true;
  }
  // Its documents say the opposite: the probe fails if not all records match.
  if (failIfAllMatch.length > 0 && !allMatch) return fail('fail_if_all_match_regexp');
  if (failIfNoneMatches.length > 0 && !someMatch) return fail('fail_if_none_matches_regexp');
  return true;
}
