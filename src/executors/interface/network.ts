import type { PingSocket, PingSocketOptions } from './ping-socket.ts';

export type IpFamily = 4 | 6;
export type ResolvedAddress = { address: string; family: IpFamily };

/** Names resolved for one attempt. */
export type Resolved = {
  /** In the order in which to try them; at least one. */
  addresses: ResolvedAddress[];
  /** `literal`: no lookup was needed. */
  source: 'literal' | 'hosts' | 'dns' | 'os';
  /** Milliseconds. */
  durationMs: number;
  /** True if IPv6 was requested but the host has no IPv6 route, so IPv4 addresses are returned instead. */
  ipFallback: boolean;
};

/** The host's network for executors: created once by the agent, shared by all attempts. */
export type Network = {
  /**
   * Addresses of a host name or IP literal (with or without brackets) in the requested family. Rejects with
   * ResolveError (code ENOTFOUND, EAI_AGAIN, TIMEOUT or ERR_INVALID_IP_ADDRESS) or `signal.reason`.
   */
  resolve: (hostname: string, options: { family: IpFamily; signal: AbortSignal }) => Promise<Resolved>;
  /** Called before each connection attempt, so that the network evidence of an attempt can be collected. */
  connecting?: (addresses: readonly ResolvedAddress[], port: number) => void;
  /** The system's own name servers (resolv.conf), as `address` and `port`. */
  nameServers: () => Promise<{ address: string; port: number }[]>;
  /**
   * The shared ICMP socket of a family, or the shared one with these options. Rejects with AgentError ICMP_UNAVAILABLE,
   * which explains how to grant access.
   */
  icmp: (family: IpFamily, options?: PingSocketOptions) => Promise<PingSocket>;
  /** The network (autonomous system) of an address; absent or null if no database knows it. */
  originOf?: (address: string) => { asn: number; organization: string | null } | null;
  /** Closes the ping sockets. */
  close: () => void;
};

/** A name cannot be resolved. It is the target's fault, so executors turn it into an outcome. */
export class ResolveError extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN' | 'TIMEOUT' | 'ERR_INVALID_IP_ADDRESS';
  constructor(code: ResolveError['code'], message: string) {
    super(message);
    this.name = 'ResolveError';
    this.code = code;
  }
}
