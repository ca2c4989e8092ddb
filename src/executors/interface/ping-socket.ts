/** One ICMP echo that was answered, or an error that came back for it. */
export type EchoReply = {
  /** Milliseconds. */
  rttMs: number;
  /** Bytes of ICMP payload received; 0 with an error. */
  size: number;
  /** Hop limit of the reply where the socket shows it. */
  ttl: number | null;
  type: number;
  code: number;
  /** Null = answered. Else an ICMP error came back: its errno's name (EHOSTUNREACH…), and who sent it where known. */
  error: { code: string; from: string | null } | null;
};

export type EchoOptions = {
  /** At least 8: the payload begins with eight random bytes that a reply has to return. At most 1400. */
  payloadBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** Hops that the request may take; absent = the system's default. */
  ttl?: number;
};

/** One socket per family, shared by all checks: replies are matched by id and sequence. */
export type PingSocket = {
  /** How it was opened: `ping` = unprivileged SOCK_DGRAM, `raw` = SOCK_RAW. */
  readonly way: 'ping' | 'raw';
  /**
   * Sends one echo request and resolves with its reply, or null when none came before `timeoutMs`. Rejects with EchoError
   * when the request can't be sent, or with `signal.reason`.
   */
  echo: (address: string, options: EchoOptions) => Promise<EchoReply | null>;
  /** Pending echoes resolve with null. */
  close: () => void;
};

/** This host could not send an echo request. `code` is the errno's name, such as ENETUNREACH. */
export class EchoError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'EchoError';
    this.code = code;
  }
}
