import type { Duplex } from 'node:stream';
import { decodeAnswer, DnsMalformed, type DnsMessage, type DnsQuery } from './message.ts';

/**
 * One query and its answer over a connected stream, TCP or TLS (RFC 1035 section 4.2.2: a two-byte length before each
 * message). Resolves with the answer and the time (performance.now) of its first byte. Nobody else can write to the
 * stream, so anything that does not match the query is malformed. Rejects with DnsMalformed, the stream's error or
 * `signal.reason`. Leaves the stream open and never buffers more than one message.
 */
export function exchangeStream(
  stream: Duplex,
  query: DnsQuery,
  signal: AbortSignal,
): Promise<{ answer: DnsMessage; firstByteAt: number }> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    let received: Buffer = Buffer.alloc(0);
    let firstByteAt = 0;
    const finish = (settle: () => void) => {
      stream.off('data', onData);
      stream.off('error', fail);
      stream.off('end', onEnd);
      stream.off('close', onEnd);
      signal.removeEventListener('abort', onAbort);
      stream.pause();
      settle();
    };
    const fail = (error: unknown) => finish(() => reject(error));
    const onAbort = () => fail(signal.reason);
    const onEnd = () =>
      fail(
        new DnsMalformed(
          received.length === 0
            ? 'the server closed the connection without an answer'
            : `the server closed the connection during its answer (${received.length} bytes received)`,
        ),
      );
    const onData = (chunk: Buffer) => {
      if (firstByteAt === 0) firstByteAt = performance.now();
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      if (received.length < 2) return;
      const length = received.readUInt16BE(0);
      if (length < 12) {
        fail(new DnsMalformed(`an answer of ${length} bytes is shorter than a header`));
        return;
      }
      if (received.length < 2 + length) return;
      try {
        const decoded = decodeAnswer(received.subarray(2, 2 + length), query);
        if ('mismatch' in decoded) fail(new DnsMalformed(`the answer is ${decoded.mismatch}`));
        else finish(() => resolve({ answer: decoded.answer, firstByteAt }));
      } catch (error) {
        fail(error);
      }
    };
    signal.addEventListener('abort', onAbort, { once: true });
    stream.on('data', onData);
    stream.on('error', fail);
    stream.on('end', onEnd);
    stream.on('close', onEnd);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.bytes.length);
    // One write: after a partial message, some servers wait for the second segment and delay their ACK.
    stream.write(Buffer.concat([length, query.bytes]));
  });
}
