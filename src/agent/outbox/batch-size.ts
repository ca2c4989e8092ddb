/**
 * How many results one request carries. A proxy with a limit of its own, or a slow line, takes only smaller requests:
 * the size is halved after a refusal or a failure, and grows again while requests succeed.
 */
export type BatchSize = {
  /** How many of the payloads from `from` the next request may carry; at least one. */
  next: (payloads: readonly Buffer[], from: number) => number;
  /** The request was too large, or was refused because of one of its results. */
  refused: (request: { bytes: number; items: number; isTooLarge: boolean }) => void;
  /** No answer came. */
  failed: (request: { bytes: number }) => void;
  succeeded: () => void;
};

/** Requests without an answer do not become smaller than this. */
const leastBytes = 64 * 1024;
/** After so many requests in a row, a size that was refused is tried again. */
const retrySizeAfter = 100;

export function createBatchSize(): BatchSize {
  let maxBytes = Infinity;
  let maxItems = Infinity;
  /** The smallest request that was too large. */
  let tooLarge = Infinity;
  let successes = 0;
  return {
    next: (payloads, from) => {
      let bytes = 0;
      let items = 0;
      for (const { length } of payloads.slice(from)) {
        bytes += length + 1;
        if (items > 0 && (bytes > maxBytes || items >= maxItems)) break;
        items += 1;
      }
      return items;
    },
    refused: ({ bytes, items, isTooLarge }) => {
      successes = 0;
      maxItems = Math.max(1, Math.ceil(items / 2));
      if (!isTooLarge) return;
      tooLarge = Math.min(tooLarge, bytes);
      maxBytes = Math.max(1, Math.floor(bytes / 2));
    },
    failed: ({ bytes }) => {
      successes = 0;
      maxBytes = Math.min(maxBytes, Math.max(leastBytes, Math.floor(bytes / 2)));
    },
    succeeded: () => {
      successes += 1;
      if (successes >= retrySizeAfter) {
        successes = 0;
        tooLarge = Infinity;
      }
      maxItems *= 2;
      // Halfway to the refused size at most, so that few requests are refused while the limit stays.
      if (maxBytes * 2 < tooLarge) maxBytes *= 2;
    },
  };
}
