import Type, { type Static } from 'typebox';
import { StringEnum } from './schema.ts';

/**
 * Why a run did not pass: a closed list of codes, each with its owner. `target` and `script` make a result `failed`.
 * `ours` (agent or service) makes it `errored`, `missed` or `cancelled` and is never charged to the target. Platform
 * codes (errno, TLS) keep the platform's name.
 */
export const reasonOwner = {
  // names and connections
  ENOTFOUND: 'target',
  EAI_AGAIN: 'target',
  ECONNREFUSED: 'target',
  ECONNRESET: 'target',
  ECONNABORTED: 'target',
  EPIPE: 'target',
  ETIMEDOUT: 'target',
  EHOSTUNREACH: 'target',
  EHOSTDOWN: 'target',
  ENETUNREACH: 'target',
  EACCES: 'target',
  CONNECTION_CLOSED: 'target',
  ERR_INVALID_IP_ADDRESS: 'target',
  SOCKET_TIMEOUT: 'target',
  TIMEOUT: 'target',
  // TLS
  CERT_HAS_EXPIRED: 'target',
  CERT_NOT_YET_VALID: 'target',
  CERT_REVOKED: 'target',
  CERT_UNTRUSTED: 'target',
  CERT_REJECTED: 'target',
  CERT_SIGNATURE_FAILURE: 'target',
  CERT_CHAIN_TOO_LONG: 'target',
  INVALID_CA: 'target',
  INVALID_PURPOSE: 'target',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'target',
  SELF_SIGNED_CERT_IN_CHAIN: 'target',
  UNABLE_TO_GET_ISSUER_CERT: 'target',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'target',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'target',
  ERR_TLS_CERT_ALTNAME_INVALID: 'target',
  TLS_ERROR: 'target',
  /** A certificate of the chain expires within the days that the check allows. */
  CERT_EXPIRES_SOON: 'target',
  /** A rule of an SSL check's security baseline is violated. */
  TLS_BASELINE: 'target',
  // HTTP
  INVALID_URL: 'target',
  INVALID_REQUEST: 'target',
  HTTP_STATUS: 'target',
  HTTP_PROTOCOL_ERROR: 'target',
  HTTP_HEADERS_TOO_LARGE: 'target',
  HTTP_BODY_TOO_LARGE: 'target',
  HTTP_BODY_INCOMPLETE: 'target',
  HTTP_DECODING_FAILED: 'target',
  TOO_MANY_REDIRECTS: 'target',
  INVALID_REDIRECT: 'target',
  PROXY_FAILED: 'target',
  CLIENT_CERTIFICATE_INVALID: 'target',
  TEMPLATE_INVALID: 'target',
  // gRPC
  /** The call got a status other than OK. */
  GRPC_STATUS: 'target',
  /** The health service answers something other than SERVING. */
  GRPC_HEALTH: 'target',
  /** The types or the message of the check do not fit the server, or cannot be read. */
  GRPC_DEFINITION: 'target',
  // DNS
  DNS_RCODE: 'target',
  DNS_MALFORMED: 'target',
  // ICMP
  PACKET_LOSS: 'target',
  // traces
  /** The last hop of a trace is not the target. */
  DESTINATION_NOT_REACHED: 'target',
  /** Routers send packets for the target to each other in a circle. */
  ROUTE_LOOP: 'target',
  // heartbeats
  /** The monitored job did not call the ping URL in time. */
  HEARTBEAT_MISSED: 'target',
  // grading
  ASSERTION_FAILED: 'target',
  /** A test of a browser or multi-step check failed. */
  TEST_FAILED: 'target',
  /** A script called markCheckAsDegraded. */
  MARKED_DEGRADED: 'target',
  RESPONSE_TOO_SLOW: 'target',
  SHOULD_HAVE_FAILED: 'target',
  // scripts
  SCRIPT_THREW: 'script',
  /** Syntax error, no tests, a path that leaves the folder, or a package that the runtime does not have. */
  SCRIPT_INVALID: 'script',
  SCRIPT_TIMEOUT: 'script',
  /** The script exceeded a limit of memory, processor time, output, disk or secrets; the message names it. */
  SCRIPT_KILLED: 'script',
  // suites
  /** The code bundle cannot be used: it is damaged or too large, a path leaves its folder, or it has no lock file. */
  BUNDLE_INVALID: 'script',
  /** The install command failed, or took too long. */
  INSTALL_FAILED: 'script',
  // the job
  INVALID_JOB: 'ours',
  TYPE_UNAVAILABLE: 'ours',
  RUNTIME_UNAVAILABLE: 'ours',
  // the agent
  INTERNAL: 'ours',
  DISK_FULL: 'ours',
  /** The agent's data folder cannot be written: it is read-only, immutable or broken. */
  DISK_UNAVAILABLE: 'ours',
  ICMP_UNAVAILABLE: 'ours',
  BROWSER_UNAVAILABLE: 'ours',
  /** The service did not deliver the code bundle of a suite. */
  BUNDLE_UNAVAILABLE: 'ours',
  /** The limits for scripts cannot be enforced on this host. */
  SANDBOX_UNAVAILABLE: 'ours',
  NETWORK_UNAVAILABLE: 'ours',
  /** The network of the agent's own host failed: link, address, route, gateway, resolver or proxy. */
  OWN_NETWORK: 'ours',
  RESULT_TOO_LARGE: 'ours',
  /** The agent was starved of processor time, which alone explains a bad result. */
  AGENT_OVERLOADED: 'ours',
  // the service
  CANCELLED: 'ours',
  /** The service was away when the run was due or was to be claimed: it or its database did not work. */
  NOT_SCHEDULED: 'ours',
  NOT_CLAIMED: 'ours',
  NO_AGENT: 'ours',
  /** The previous run of the suite was still in progress when this one was due. */
  STILL_RUNNING: 'ours',
  /** Agents had the run and disappeared before they began it, too often. */
  LEASE_EXPIRED: 'ours',
  /** Two agents disappeared while they were running it, so it is not given to another one. */
  AGENT_LOST: 'ours',
} as const satisfies Record<string, 'target' | 'script' | 'ours'>;

export type ReasonCode = keyof typeof reasonOwner;
export type ReasonOwner = (typeof reasonOwner)[ReasonCode];
export const reasonCodes = Object.keys(reasonOwner) as ReasonCode[]; // Object.keys loses the key type

export const Reason = Type.Object({
  code: Type.String({ maxLength: 64, description: `One of: ${reasonCodes.join(', ')}` }),
  owner: StringEnum(['target', 'script', 'ours']),
  message: Type.String({ maxLength: 4096 }),
});
/** The type of `code` is closed here. The schema is open, because an older side may receive a newer side's code. */
export type Reason = Omit<Static<typeof Reason>, 'code'> & { code: ReasonCode };

/** A reason with the owner that its code implies. */
export function reasonOf(code: ReasonCode, message: string): Reason {
  return { code, owner: reasonOwner[code], message: message.slice(0, 4096) };
}
