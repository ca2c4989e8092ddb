import { AgentError } from '../../errors.ts';
import { EchoError, type EchoOptions, type EchoReply, type PingSocket } from '../interface/ping-socket.ts';

/** Sends requests under sequence numbers: the addon or the raw-socket package. */
export type EchoPort = {
  /** Sends one request. Returns null, or the errno name if that fails at once. */
  send: (sequence: number, address: string, payloadBytes: number, ttl: number | undefined) => string | null;
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

type Pending = {
  timeoutMs: number;
  settle: (reply: EchoReply | null) => void;
  fail: (error: unknown) => void;
};

/** A PingSocket over a port: handles sequence numbers, timeouts and cancellation. */
export function createPingSocket(way: 'ping' | 'raw', open: (events: EchoEvents) => EchoPort): PingSocket {
  const pending = new Map<number, Pending>();
  let lastSequence = -1;
  let closed = false;
  const port = open({
    answered: (sequence, reply) => {
      const request = pending.get(sequence);
      // A reply may be read late because this process was busy. The kernel's timestamp shows whether it arrived in
      // time.
      request?.settle(reply.rttMs <= request.timeoutMs ? reply : null);
    },
    unsent: (sequence, errnoName) => pending.get(sequence)?.fail(sendError(errnoName)),
  });

  function freeSequence(): number {
    if (pending.size >= inFlightLimit) {
      throw new AgentError('INTERNAL', `${inFlightLimit} echo requests are in flight already`);
    }
    do lastSequence = (lastSequence + 1) % 65_536;
    while (pending.has(lastSequence));
    return lastSequence;
  }

  function start(
    address: string,
    { payloadBytes, timeoutMs, signal, ttl }: EchoOptions,
    resolve: (reply: EchoReply | null) => void,
    reject: (error: unknown) => void,
  ): void {
    signal.throwIfAborted();
    if (closed) throw new AgentError('NETWORK_UNAVAILABLE', 'the ping socket is closed');
    const sequence = freeSequence();
    let timer: NodeJS.Timeout;
    let done = false;
    const end = (): boolean => {
      if (done) return false;
      done = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      pending.delete(sequence);
      port.forget(sequence);
      return true;
    };
    const settle = (reply: EchoReply | null): void => {
      if (end()) resolve(reply);
    };
    const fail = (error: unknown): void => {
      if (end()) reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    const sendWithRetry = (leftMs: number): void => {
      const errnoName = port.send(sequence, address, payloadBytes, ttl);
      if (errnoName === null) {
        // The event loop runs timers before it reads sockets: after a long pause the reply may have arrived but is
        // unread.
        timer = setTimeout(() => setImmediate(settle, null), leftMs);
      } else if ((errnoName === 'EAGAIN' || errnoName === 'ENOBUFS') && leftMs > noBufferWaitMs) {
        timer = setTimeout(sendWithRetry, noBufferWaitMs, leftMs - noBufferWaitMs);
      } else {
        fail(sendError(errnoName));
      }
    };
    pending.set(sequence, { timeoutMs, settle, fail });
    signal.addEventListener('abort', onAbort);
    sendWithRetry(timeoutMs);
  }

  return {
    way,
    echo: (address, options) =>
      new Promise((resolve, reject) => {
        start(address, options, resolve, reject); // an exception rejects the promise
      }),
    close: () => {
      if (closed) return;
      closed = true;
      for (const request of pending.values()) request.settle(null);
      port.close();
    },
  };
}

function sendError(errnoName: string): EchoError {
  return new EchoError(errnoName, `echo request not sent: ${errnoName}`);
}
