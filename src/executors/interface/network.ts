import type { PingSocket } from './ping-socket.ts';

export type IpFamily = 4 | 6;
export type ResolvedAddress = { address: string; family: IpFamily };

/** Names resolved for one attempt. */
export type Resolved = {
  /** In the order in which they are to be tried; at least one. */
  addresses: ResolvedAddress[];
  /** `literal`: no look-up took place. */
  source: 'literal' | 'hosts' | 'dns' | 'os';
  /** Milliseconds. */
  durationMs: number;
  /** True when IPv6 was asked for, the host has no IPv6 route, and IPv4 addresses are returned instead. */
  ipFallback: boolean;
};

/** The host's network as executors see it: made once by the agent, shared by all attempts. */
export type Network = {
  /**
   * Addresses of a host name or IP literal (with or without brackets) in the family asked for.
   * Rejects with ResolveError (code ENOTFOUND, EAI_AGAIN, TIMEOUT or ERR_INVALID_IP_ADDRESS) or `signal.reason`.
   */
  resolve: (hostname: string, options: { family: IpFamily; signal: AbortSignal }) => Promise<Resolved>;
  /** Hears of each connection that is about to be tried, for whoever watches an attempt. */
  connecting?: (addresses: readonly ResolvedAddress[], port: number) => void;
  /** The system's own name servers (resolv.conf), as `address` and `port`. */
  nameServers: () => Promise<{ address: string; port: number }[]>;
  /** The shared ICMP socket of a family. Rejects with AgentError ICMP_UNAVAILABLE that says how to grant it. */
  icmp: (family: IpFamily) => Promise<PingSocket>;
  /** Closes the ping sockets. */
  close: () => void;
};

/** A name that can't be resolved: the target's fault, for executors to turn into an outcome. */
export class ResolveError extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN' | 'TIMEOUT' | 'ERR_INVALID_IP_ADDRESS';
  constructor(code: ResolveError['code'], message: string) {
    super(message);
    this.name = 'ResolveError';
    this.code = code;
  }
}
