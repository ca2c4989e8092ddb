/** One ICMP echo that was answered, or an error that was received for it. */
export type EchoReply = {
  /** Milliseconds. */
  rttMs: number;
  /** Bytes of ICMP payload received; 0 with an error. */
  size: number;
  /** Hop limit of the reply if the socket provides it. */
  ttl: number | null;
  type: number;
  code: number;
  /** Null = answered. Otherwise an ICMP error was received: the errno name (EHOSTUNREACH…), and its sender if known. */
  error: { code: string; from: string | null } | null;
};

export type EchoOptions = {
  /** At least 8, because a reply must return the first eight bytes of the payload. At most 1400; 8972 if they are `whole`. */
  payloadBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** Maximum number of hops of the request; absent = the system's default. */
  ttl?: number;
};

/** What sets a socket apart from the one that all checks share. */
export type PingSocketOptions = {
  /** The address that requests come from; absent or null = the system chooses. */
  source?: string | null;
  /** Requests are never fragmented on their way, by this host or by routers (IPv4; routers never do so with IPv6). */
  whole?: boolean;
};

/** One socket per family, shared by all checks: replies are matched by id and sequence. */
export type PingSocket = {
  /** How it was opened: `ping` = unprivileged SOCK_DGRAM, `raw` = SOCK_RAW. */
  readonly way: 'ping' | 'raw';
  /**
   * Sends one echo request and resolves with its reply, or null if none was received within `timeoutMs`. Rejects with
   * EchoError if the request cannot be sent, or with `signal.reason`.
   */
  echo: (address: string, options: EchoOptions) => Promise<EchoReply | null>;
  /**
   * Sends one request for each maximum number of hops from `from` to `to`, all at once. Resolves when all of them are
   * answered or `timeoutMs` is over, with the replies in this order. Rejects like `echo`.
   */
  echoHops: (
    address: string,
    hops: { from: number; to: number },
    options: Omit<EchoOptions, 'ttl'>,
  ) => Promise<(EchoReply | null)[]>;
  /** Pending echoes resolve with null. */
  close: () => void;
};

/** This host could not send an echo request. `code` is the errno name, such as ENETUNREACH. */
export class EchoError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'EchoError';
    this.code = code;
  }
}
