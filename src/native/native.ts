import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toError } from '../errors.ts';

/** A port of the addon: an ICMP socket with its requests in flight. */
export type NativePort = { readonly __port: unique symbol };

/** A flow of the addon: probes to one target that take one route. */
export type NativeFlow = { readonly __flow: unique symbol };

/** A trace of the addon: probes to one target, each of which may take another route. */
export type NativeTrace = { readonly __trace: unique symbol };

/** A packet capture of the addon. */
export type NativeCapture = { readonly __capture: unique symbol };

/** The functions of src/native/addon. Errors of system calls are negative errno values. */
export type Native = {
  /**
   * Opens an ICMP socket (`raw`: SOCK_RAW, else the unprivileged SOCK_DGRAM). Replies arrive in batches:
   * `onReplies(count)` is called after the first `count * replyFields` numbers of `replies` were written. `onErrors`
   * does the same for ICMP errors, with the errno in the place of the TTL. `senders` has the address that sent each of
   * them, or nothing if it is unknown, and a space after each. `helper`: the file of the program that opens raw sockets
   * (`rawSocketHelper`); absent or empty = this process opens it. `source`: the address that requests come from; absent
   * or empty = the system chooses. `whole`: requests are never fragmented.
   */
  openEcho: (
    family: 4 | 6,
    raw: boolean,
    replies: Float64Array,
    onReplies: (count: number) => void,
    onErrors: (count: number, senders: string) => void,
    helper?: string,
    source?: string,
    whole?: boolean,
  ) => NativePort | number;
  /**
   * Sends a request under a free sequence number (0 to 65535). `ttl` 0 = the system's default. 0 or a negative errno.
   */
  sendEcho: (
    port: NativePort,
    sequence: number,
    address: string,
    payloadBytes: number,
    ttl: number,
  ) => number;
  /** Calls `onErrors` for the errors that have arrived, before it returns. */
  readErrors: (port: NativePort) => void;
  /** Frees a sequence number whose reply nobody waits for any more. */
  forgetEcho: (port: NativePort, sequence: number) => void;
  closeEcho: (port: NativePort) => void;
  /**
   * Opens a trace, which needs no privileges. `tcp`: probes are SYNs to `port`; else datagrams that contain
   * `question` (at most 64 bytes). `onAnswer` is called at most once per probe: `kind` is one of `probeAnswers`. For
   * `router`, type and code are those of its ICMP or ICMPv6 message and `from` is its sender; otherwise `errno` is
   * the socket's (0 = connected). Each probe has its own port, and all may be in flight.
   */
  openTrace: (
    family: 4 | 6,
    tcp: boolean,
    address: string,
    port: number,
    question: Uint8Array,
    onAnswer: (
      index: number,
      kind: number,
      errno: number,
      type: number,
      code: number,
      from: string,
      rttMs: number,
    ) => void,
  ) => NativeTrace | number;
  /** Sends a probe with a TTL of `ttl`, under an unused index (0 to 1023). 0 or a negative errno. */
  sendProbe: (trace: NativeTrace, index: number, ttl: number) => number;
  closeTrace: (trace: NativeTrace) => void;
  /**
   * Opens a flow: a trace whose probes all have the source port `sourcePort`. They are one flow for routers, and one of
   * them is in flight at a time. `way`: one of `flowWays`; the port of echo requests is ignored, and `sourcePort` is
   * their id. `question`: 2 to 64 bytes, the first two of which differ between datagrams and between echo requests.
   * Without the permission for a socket of the kind, the result is -EACCES or -EPERM.
   */
  openFlow: (
    family: 4 | 6,
    way: number,
    address: string,
    port: number,
    sourcePort: number,
    question: Uint8Array,
    numbers: Float64Array,
    onRound: (senders: string) => void,
  ) => NativeFlow | number;
  /**
   * Starts a round of a flow: one probe each with a TTL of `from` to `to` (at most 64), one after the other. Each waits
   * `waitMs` for its answer, or longer if earlier answers were slow. The round ends early after an answer of the target,
   * an error other than "time exceeded", or `maxSilent` probes in a row without an answer (0 = any number).
   *
   * When it is over, `numbers` has `roundHead` numbers and then `roundFields` for each probe, and `onRound` is called
   * with the texts of new senders, a space after each. If it is over within this call, the call returns these texts
   * instead. Otherwise it returns 0, or a negative errno.
   */
  sendRound: (
    flow: NativeFlow,
    from: number,
    to: number,
    waitMs: number,
    maxSilent: number,
  ) => number | string;
  /**
   * Ends a round at once; the probe in flight is not part of it. Returns the texts of new senders, or undefined if there
   * is no round.
   */
  endRound: (flow: NativeFlow) => string | undefined;
  closeFlow: (flow: NativeFlow) => void;
  /**
   * Captures packets that pass a filter (a classic BPF program over packets from their IP header on) on all
   * interfaces: the first 2048 packets, at most 160 bytes of each. `helper` opens the socket if this process lacks
   * NET_RAW (`rawSocketHelper`; empty = none). -EPERM if neither may.
   */
  openCapture: (filter: Uint8Array, helper: string) => Promise<NativeCapture | number>;
  /** Replaces the filter for later packets. 0 or a negative errno. */
  filterCapture: (capture: NativeCapture, filter: Uint8Array) => number;
  /** Stops the capture and returns its packets; capture.c describes the format. Or a negative errno. */
  takeCapture: (capture: NativeCapture) => Promise<Buffer | number>;
  /**
   * The IPv6 neighbours of this host: lines `ADDRESS 1` (its hardware address is known) or `ADDRESS 0`. Or a negative
   * errno.
   */
  readNeighbours6: () => string | number;
  /**
   * Begins to number TLS connections, once per process. False if this program does not export OpenSSL's functions. An
   * addon that an earlier release built lacks it.
   */
  watchTls?: () => boolean;
  /** The number of this thread's newest TLS connection; 0 = none since the last call. */
  newestTls: () => number;
  /** DER of the certificates that the server of a connection of this thread sent, leaf first; at most 20. */
  peerCertificates: (number: number) => Buffer[];
  /** Sends a datagram of at most 255 bytes to the socket of the service manager. 0 or a negative errno. */
  notifyManager: (socket: string, message: string) => number;
  /** Other processes of the same user then cannot read or debug this process. 0 or a negative errno. */
  setNonDumpable: () => number;
};

/**
 * Who answered a probe: a router (or the target by ICMP), the target itself, or nobody, as the socket's error shows.
 * `silence`: nothing arrived in time, for flows only.
 */
export const probeAnswers = { router: 0, target: 1, none: 2, silence: 3 } as const;

/** What the probes of a flow are. `ping` and `raw`: echo requests by the unprivileged kind of ICMP socket, or a raw one. */
export const flowWays = { udp: 0, tcp: 1, ping: 2, raw: 3 } as const;

/** The numbers before the first probe of a round: how many probes follow, and the errno that ended it, or 0. */
export const roundHead = 2;
/** Number of fields of one probe of a round: kind, type, code, rttMs, and one of `roundSenders`. */
export const roundFields = 5;
/** Required length of the array of a flow. */
export const roundNumbers = roundHead + 64 * roundFields;
/** The sender of an answer: unknown, the last one that was reported for its TTL, or the next one of the texts. */
export const roundSenders = { unknown: 0, asBefore: 1, next: 2 } as const;

/**
 * Number of fields of one reply in the shared array: sequence, rttMs, ttl (-1 = unknown), payload bytes, type, code. An
 * error has its errno in the place of the TTL.
 */
export const replyFields = 6;
/** Required length of the shared array: the addon reports at most 64 replies at once. */
export const replyNumbers = 64 * replyFields;

let loaded: { native: Native | null; reason: string | null } | undefined;

/**
 * The addon, loaded at the first call; null if it was not built or cannot be loaded (`nativeProblem` gives the
 * reason).
 */
export function loadNative(): Native | null {
  return load().native;
}

/** Why there is no addon, in words that follow "because"; null if there is one. */
export function nativeProblem(): string | null {
  return load().reason;
}

function load(): { native: Native | null; reason: string | null } {
  loaded ??= loadOnce();
  return loaded;
}

/** The command that builds the C parts: with paths, unless the current folder is this package. */
export function buildCommand(): string {
  const folder = fileURLToPath(new URL('../..', import.meta.url));
  if (relative(folder, process.cwd()) === '') return 'node scripts/native.mjs';
  return `${process.execPath} ${join(folder, 'scripts', 'native.mjs')}`;
}

function loadOnce(): { native: Native | null; reason: string | null } {
  const file = addonFile();
  if (file === null) {
    return { native: null, reason: `the native addon was not built (run: ${buildCommand()})` };
  }
  try {
    // The addon is built from this folder's own sources, which the type describes.
    return { native: createRequire(import.meta.url)(file) as Native, reason: null };
  } catch (error: unknown) {
    const message = toError(error).message;
    return { native: null, reason: `the native addon cannot be loaded (${message.split('\n', 1)[0] ?? ''})` };
  }
}

/**
 * The program that opens raw ICMP and packet sockets for an agent without the capability (src/native/raw-socket). Its
 * file may have the capability. Null if it was not built.
 */
export function rawSocketHelper(): string | null {
  return builtFile('raw-socket');
}

function addonFile(): string | null {
  return builtFile('location_agent.node');
}

/**
 * In build/native below the package's root: this file is in src/native or dist/native; in benchmark builds it is
 * deeper.
 */
function builtFile(name: string): string | null {
  for (let folder = import.meta.dirname, up = 0; up < 6; folder = dirname(folder), up++) {
    const file = join(folder, 'build', 'native', name);
    if (existsSync(file)) return file;
  }
  return null;
}
