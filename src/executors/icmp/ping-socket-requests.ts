import { AgentError } from '../../errors.ts';
import { EchoError, type EchoOptions, type EchoReply, type PingSocket } from '../interface/ping-socket.ts';

/** Sends requests under sequence numbers: the addon or the raw-socket package. */
export type EchoPort = {
  /** Sends one request. Returns null, or the errno name if that fails at once. */
  send: (sequence: number, address: string, payloadBytes: number, ttl: number | undefined) => string | null;
  /** Reports the errors that have arrived, before it returns. Absent: they are reported later. */
  readErrors?: () => void;
  /** Releases a sequence number that nobody waits for any more. */
  forget: (sequence: number) => void;
  close: () => void;
};

/** The reports of a port: only for requests whose target, id and payload match, and once for each. */
export type EchoEvents = {
  answered: (sequence: number, reply: EchoReply) => void;
  /** A request that could not be sent after all. */
  unsent: (sequence: number, errnoName: string) => void;
};

/** Maximum number of requests in flight: half of the sequence numbers, so that a number is not reused soon. */
const inFlightLimit = 32_768;
/** Time before a request is sent again if the system had no buffer for it. */
const noBufferWaitMs = 10;

/** Requests that were sent at once. */
type Group = {
  timeoutMs: number;
  replies: (EchoReply | null)[];
  /** How many of them are pending. */
  left: number;
  settle: () => void;
  fail: (error: unknown) => void;
};

type Pending = { group: Group; index: number };

/** A PingSocket over a port: handles sequence numbers, timeouts and cancellation. */
export function createPingSocket(way: 'ping' | 'raw', open: (events: EchoEvents) => EchoPort): PingSocket {
  const pending = new Map<number, Pending>();
  let lastSequence = -1;
  let closed = false;
  const port = open({
    answered: (sequence, reply) => {
      const request = pending.get(sequence);
      if (request === undefined) return;
      pending.delete(sequence);
      const { group, index } = request;
      // A reply may be read late because this process was busy. The kernel's timestamp shows whether it arrived in
      // time.
      if (reply.rttMs <= group.timeoutMs) group.replies[index] = reply;
      group.left -= 1;
      if (group.left === 0) group.settle();
    },
    unsent: (sequence, errnoName) => pending.get(sequence)?.group.fail(sendError(errnoName)),
  });

  function freeSequence(): number {
    if (pending.size >= inFlightLimit) {
      throw new AgentError('INTERNAL', `${inFlightLimit} echo requests are in flight already`);
    }
    do lastSequence = (lastSequence + 1) % 65_536;
    while (pending.has(lastSequence));
    return lastSequence;
  }

  /** Sends one request for each of `ttls`; undefined = the system's default. */
  function start(
    address: string,
    ttls: readonly (number | undefined)[],
    { payloadBytes, timeoutMs, signal }: Omit<EchoOptions, 'ttl'>,
    resolve: (replies: (EchoReply | null)[]) => void,
    reject: (error: unknown) => void,
  ): void {
    signal.throwIfAborted();
    if (closed) throw new AgentError('NETWORK_UNAVAILABLE', 'the ping socket is closed');
    const sequences: number[] = [];
    let timer: NodeJS.Timeout | undefined;
    let done = false;
    const end = (): boolean => {
      if (done) return false;
      done = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      for (const sequence of sequences) {
        if (pending.get(sequence)?.group === group && pending.delete(sequence)) port.forget(sequence);
      }
      return true;
    };
    const group: Group = {
      timeoutMs,
      replies: ttls.map(() => null),
      left: ttls.length,
      settle: () => {
        if (end()) resolve(group.replies);
      },
      fail: (error) => {
        if (end()) reject(error);
      },
    };
    const onAbort = (): void => group.fail(signal.reason);
    const sendWithRetry = (sequence: number, ttl: number | undefined, leftMs: number): void => {
      if (done) return;
      const errnoName = port.send(sequence, address, payloadBytes, ttl);
      if (errnoName === null) return;
      if ((errnoName === 'EAGAIN' || errnoName === 'ENOBUFS') && leftMs > noBufferWaitMs) {
        setTimeout(sendWithRetry, noBufferWaitMs, sequence, ttl, leftMs - noBufferWaitMs);
      } else {
        group.fail(sendError(errnoName));
      }
    };
    try {
      for (const [index, ttl] of ttls.entries()) {
        const sequence = freeSequence();
        sequences.push(sequence);
        pending.set(sequence, { group, index });
        sendWithRetry(sequence, ttl, timeoutMs);
      }
    } catch (error) {
      group.fail(error);
    }
    // Routers on this host, such as those of containers, have answered already.
    if (ttls.length > 1 && !done) port.readErrors?.();
    if (done) return;
    signal.addEventListener('abort', onAbort);
    // The event loop runs timers before it reads sockets: after a long pause a reply may have arrived but is unread.
    timer = setTimeout(() => setImmediate(group.settle), timeoutMs);
  }

  return {
    way,
    echo: (address, options) =>
      new Promise((resolve, reject) => {
        // An exception rejects the promise.
        start(address, [options.ttl], options, ([reply = null]) => resolve(reply), reject);
      }),
    echoHops: (address, { from, to }, options) =>
      new Promise((resolve, reject) => {
        const ttls = Array.from({ length: to - from + 1 }, (_, index) => from + index);
        start(address, ttls, options, resolve, reject);
      }),
    close: () => {
      if (closed) return;
      closed = true;
      for (const { group } of pending.values()) group.settle();
      port.close();
    },
  };
}

function sendError(errnoName: string): EchoError {
  return new EchoError(errnoName, `echo request not sent: ${errnoName}`);
}
