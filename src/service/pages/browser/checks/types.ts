import type { Wait } from '../base/wait.ts';

/** A check as the API returns it, with the fields that its page shows. */
export type Check = {
  readonly id: string;
  readonly name: string;
  readonly checkType: string;
  readonly activated: boolean;
  readonly muted: boolean;
  readonly tags: readonly string[];
  readonly locations?: readonly string[];
  readonly privateLocations?: readonly string[];
  readonly frequency?: number;
  readonly frequencyOffset?: number | null;
  readonly groupId: number | null;
  readonly description?: string | null;
  readonly request?: {
    readonly method?: string;
    readonly url?: string;
    readonly hostname?: string;
    readonly port?: number;
    readonly query?: string;
    readonly recordType?: string;
    readonly sslConfig?: { readonly hostname?: string; readonly port?: number };
  };
  readonly heartbeat?: {
    readonly period?: number;
    readonly periodUnit?: string;
    readonly grace?: number;
    readonly graceUnit?: string;
    readonly pingUrl?: string;
    readonly pingToken?: string;
  };
  readonly url?: string;
  readonly [field: string]: unknown;
};

/** An entry of GET /v1/checks-overview. */
export type InShort = {
  readonly id: string;
  readonly state: string;
  readonly groupName: string | null;
  readonly reason: string | null;
  readonly bars: readonly {
    from: string;
    passed: number;
    degraded: number;
    failed: number;
    errored: number;
    missed: number;
  }[];
  readonly waits: Wait | null;
  readonly availability: number | null;
  readonly p95: number | null;
  readonly nextRunAt?: string | null;
  readonly lastRunAt?: string | null;
  readonly [field: string]: unknown;
};

export const typeWords: { readonly [type: string]: string } = {
  URL: 'URL check',
  API: 'API check',
  TCP: 'TCP check',
  DNS: 'DNS check',
  ICMP: 'ping check',
  SSL: 'SSL check',
  GRPC: 'gRPC check',
  TRACEROUTE: 'traceroute check',
  BROWSER: 'browser check',
  MULTI_STEP: 'multi-step check',
  PLAYWRIGHT: 'Playwright suite',
  HEARTBEAT: 'heartbeat',
  AGENTIC: 'agentic check',
};

/** What a check looks at, in short: its URL, host and port, or DNS query. */
export function targetOf({ request }: Check): string {
  if (request === undefined) return '';
  const { url, query, recordType } = request;
  const { hostname, port } = request.sslConfig ?? request;
  if (query !== undefined) return `${recordType ?? ''} ${query}`.trim();
  return url ?? (hostname === undefined || port === undefined ? (hostname ?? '') : `${hostname}:${port}`);
}
