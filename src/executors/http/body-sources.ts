import type { AssertionSources, Found } from '../assertions/evaluate.ts';
import { parseJsonDocument } from '../assertions/json-path-document.ts';
import { shortened } from '../../shortened.ts';
import { toError } from '../../errors.ts';
import { textOf } from './body.ts';

/** A decoded body, as assertions see it. It can be sent to a thread. */
export type AssertedBody = {
  bytes: Uint8Array;
  /** The body was longer than the limit. */
  cut: boolean;
  /** Why the body cannot be read; null = it can. */
  error: string | null;
  mediaType: string;
  charset: string | null;
};

/** The sources of assertions that read the body. The text and the document are made at most once. */
export function bodySources(body: AssertedBody): Pick<AssertionSources, 'TEXT_BODY' | 'JSON_BODY'> {
  let text: string | null = null;
  const readText = () =>
    (text ??= textOf(
      Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength),
      body.charset,
    ));
  let json: Found | null = null;
  const unreadable = body.error;
  return {
    TEXT_BODY: () => (unreadable === null ? { value: readText() } : { error: unreadable }),
    JSON_BODY: () => (json ??= unreadable === null ? jsonOf(body, readText) : { error: unreadable }),
  };
}

function jsonOf({ mediaType, cut }: AssertedBody, text: () => string): Found {
  if (mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
    const shownType =
      mediaType === '' ? 'has no Content-Type' : `has the Content-Type ${shortened(mediaType, 100)}`;
    return { error: `the response ${shownType}; JSON_BODY needs application/json` };
  }
  if (cut)
    return {
      error: 'the body is larger than 25 MB and was cut there, so it is not a complete JSON document',
    };
  try {
    return { value: parseJsonDocument(text()) };
  } catch (error: unknown) {
    return {
      error: `the body is not JSON: ${withoutExcerpt(toError(error).message)}`,
    };
  }
}

/** The error message of JSON.parse without the excerpt that it shows, which may be part of a secret. */
function withoutExcerpt(message: string): string {
  return shortened(message.replace(/, (?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/, ''), 200);
}
