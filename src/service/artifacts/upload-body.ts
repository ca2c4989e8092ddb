import type { Readable } from 'node:stream';
import { toError } from '../../errors.ts';

/** The bytes of an upload as they come, within their bounds, wherever they are stored. */

/** More bytes came than were announced. */
export class TooLong extends Error {}
/** The first bytes are not those that a file of its kind begins with. */
export class WrongBeginning extends Error {}

/**
 * What comes of `body` from byte `at` of a file of `size` bytes on. Throws WrongBeginning where the first bytes are not
 * `beginning`, TooLong, the body's own error. A body that is refused is left as it is, not destroyed: the rest of a request's
 * still stands before the next one of its connection (http/slow-body.ts takes it). `signal` destroys it: nothing more comes of it.
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
        if (!chunk.subarray(0, wanted.length).equals(wanted)) throw new WrongBeginning('begins otherwise');
        seen += chunk.length;
        if (at + seen > size) throw new TooLong(`more than the ${size} bytes that were announced`);
        yield chunk;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  })();
}
