import type { Readable } from 'node:stream';
import { toError } from '../../errors.ts';

/** Reads an upload within its limits, independent of where it is stored. */

/** More bytes arrived than were announced. */
export class TooLong extends Error {}
/** The first bytes differ from those that a file of its kind begins with. */
export class WrongBeginning extends Error {}

/**
 * Yields the bytes of `body`, which belong at byte `at` of a file of `size` bytes. Throws WrongBeginning if the first
 * bytes are not `beginning`, TooLong, or the body's own error. A refused body is not destroyed: its unread rest
 * precedes the next request on the connection, and http/slow-body.ts discards it. `signal` destroys the body and ends
 * the iteration.
 */
export function uploadBody(
  body: Readable,
  bounds: { at: number; size: number; beginning: Buffer; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const { at, size, beginning, signal } = bounds;
  const stop = () => body.destroy(toError(signal.reason));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return (async function* () {
    try {
      let seen = 0;
      for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        const wanted = beginning.subarray(seen, seen + chunk.length);
        if (!chunk.subarray(0, wanted.length).equals(wanted))
          throw new WrongBeginning('the file begins with other bytes');
        seen += chunk.length;
        if (at + seen > size) throw new TooLong(`more than the ${size} bytes that were announced`);
        yield chunk;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  })();
}
