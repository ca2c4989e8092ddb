import type { Api } from '../e2e/program.ts';
import type { ChaosCheck, CheckKind } from './facts.ts';
import { addHeartbeat, type Heartbeats } from './heartbeats.ts';
import type { Targets } from './targets.ts';

/** The checks of a world: some of each light type, each with a target that knows its name. */

type ProbeKind = Exclude<CheckKind, 'heartbeat'>;

/** In the order in which they are made. */
const kinds = ['url', 'tcp', 'dns', 'api', 'icmp', 'ssl', 'grpc', 'traceroute'] as const;
const usualCounts: Record<ProbeKind, number> = {
  url: 24,
  tcp: 8,
  dns: 8,
  api: 0,
  icmp: 0,
  ssl: 0,
  grpc: 0,
  traceroute: 0,
};

/** How many checks there are of each kind, and how often they run. */
export type CheckOptions = {
  url?: number;
  api?: number;
  tcp?: number;
  dns?: number;
  icmp?: number;
  ssl?: number;
  grpc?: number;
  traceroute?: number;
  heartbeat?: number;
  /** Seconds between the runs of a check: 10, 20 or 30. */
  everySeconds?: 10 | 20 | 30;
  /** All checks are due at the same moment; as they are made, they are spread over their interval. */
  sameMoment?: boolean;
  /** Where targets listen. */
  host?: string;
  /** Addresses by which checks reach the targets, in turn; default: `host`. */
  addresses?: readonly string[];
  /** Names below it lead to the targets: every third URL check uses one. */
  domain?: string;
  limits?: { degradedResponseTime: number; maxResponseTime: number };
};

type Place = {
  api: Api;
  targets: Targets;
  webhookUrl: string;
  heartbeats: Heartbeats;
  query: <T extends Record<string, unknown>>(sql: string, values?: readonly unknown[]) => Promise<T[]>;
};

/** Creates the checks and their channel. Heartbeats are not among those that are returned: they have no due moments. */
export async function makeChecks(place: Place, options: CheckOptions): Promise<ChaosCheck[]> {
  const { api, query } = place;
  const addresses = options.addresses ?? [options.host ?? '127.0.0.1'];
  const template = '{"check":"{{CHECK_ID}}","type":"{{ALERT_TYPE}}","id":"{{CHECK_RESULT_ID}}"}';
  const channel = await api<{ id: number }>('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'oracle', url: place.webhookUrl, template },
  });
  if (channel.status !== 201) throw new Error(`no channel: ${JSON.stringify(channel.body)}`);
  const alertChannelSubscriptions = [{ alertChannelId: channel.body.id, activated: true }];
  const { everySeconds = 10 } = options;
  const counts = { ...usualCounts, ...countsOf(options) };
  const names = kinds.flatMap((kind) =>
    Array.from({ length: counts[kind] }, (_, index) => [kind, `${kind}-${index}`] as const),
  );
  const checks: ChaosCheck[] = [];
  const commonOffset = options.sameMoment === true ? everySeconds / 2 : null;
  for (const [index, [kind, name]] of names.entries()) {
    const address = addresses[index % addresses.length] ?? '127.0.0.1';
    const hasName = options.domain !== undefined && address === addresses[0] && index % 3 === 0;
    const urlHost = hasName ? `${name}.${options.domain}` : address;
    const made = await api<{ id: string }>('POST', `/v1/checks/${kind}`, {
      name,
      privateLocations: ['office'],
      frequency: 0,
      frequencyOffset: everySeconds,
      request: await requestOf(place.targets, { kind, name, address, urlHost }),
      doubleCheck: false,
      ...(kind === 'url' || kind === 'tcp' ? options.limits : {}),
      alertChannelSubscriptions,
    });
    if (made.status !== 201) throw new Error(`no check ${name}: ${JSON.stringify(made.body)}`);
    const [row] = await query<{ offset: number }>(
      commonOffset === null
        ? 'select offset_seconds as offset from checks where id = $1'
        : `update checks set offset_seconds = ${commonOffset},
             next_due_at = next_due_at + make_interval(secs => ${commonOffset} - offset_seconds)
           where id = $1 returning offset_seconds as offset`,
      [made.body.id],
    );
    checks.push({
      id: made.body.id,
      kind,
      name,
      intervalMs: everySeconds * 1000,
      offsetMs: Math.round((row?.offset ?? 0) * 1000),
      bad: [],
      address,
    });
  }
  for (let index = 0; index < (options.heartbeat ?? 0); index++)
    await addHeartbeat(place.heartbeats, { api, name: `heartbeat-${index}`, alertChannelSubscriptions });
  return checks;
}

/** The counts that are given. */
const countsOf = (options: CheckOptions): Partial<Record<ProbeKind, number>> =>
  Object.fromEntries(kinds.flatMap((kind) => (options[kind] === undefined ? [] : [[kind, options[kind]]])));

type Target = {
  kind: ProbeKind;
  name: string;
  address: string;
  /** Its name or address in a URL. */
  urlHost: string;
};

async function requestOf(targets: Targets, { kind, name, address, urlHost }: Target): Promise<object> {
  switch (kind) {
    case 'url':
      return { url: `http://${urlHost}:${targets.httpPort}/p/${name}` };
    case 'api':
      return {
        method: 'POST',
        url: `http://${urlHost}:${targets.httpPort}/p/${name}`,
        bodyType: 'JSON',
        body: '{"question":"state"}',
        assertions: [
          { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' },
          { source: 'JSON_BODY', property: '$.state', comparison: 'EQUALS', target: 'running' },
        ],
      };
    case 'tcp':
      return {
        hostname: address,
        port: await targets.tcpPort(name),
        assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'ready' }],
      };
    case 'dns':
      return {
        query: `${name}.chaos.test`,
        recordType: 'A',
        nameServer: address,
        port: targets.dnsPort,
        protocol: 'UDP',
      };
    case 'icmp':
      return { hostname: address, pingCount: 1 };
    case 'ssl':
      return {
        sslConfig: {
          hostname: address,
          port: await targets.tlsPort(),
          serverName: `${name}.chaos.test`,
          skipChainValidation: true,
        },
      };
    case 'grpc':
      return {
        url: address,
        port: await targets.grpcPort(),
        grpcConfig: { mode: 'HEALTH', service: name, tls: false },
      };
    case 'traceroute':
      return {
        url: address,
        protocol: 'TCP',
        port: await targets.tracePort(name),
        queries: 2,
        ptrLookup: false,
      };
  }
}
