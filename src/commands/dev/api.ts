import { ServiceError, toError } from '../../errors.ts';

/** A client of the public API over HTTP, with the account's key. */
export type ApiClient = {
  get: (path: string) => Promise<unknown>;
  post: (path: string, body: unknown) => Promise<unknown>;
  put: (path: string, body: unknown) => Promise<unknown>;
  /** Binary body, sent instead of JSON. */
  upload: (path: string, bytes: Uint8Array<ArrayBuffer>) => Promise<unknown>;
};

/** The service is a part of this process: it only answers late if the machine is busy. */
const callTimeoutMs = 60_000;

/** A client for the service at `baseUrl`. Its calls reject with ServiceError, and at once when `stopped` fires. */
export function createApiClient(
  baseUrl: string,
  apiKey: string,
  stopped: AbortSignal = new AbortController().signal,
): ApiClient {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> =>
    send(
      method,
      path,
      body === undefined ? undefined : { type: 'application/json', body: JSON.stringify(body) },
    );
  const send = async (
    method: string,
    path: string,
    content?: { type: string; body: string | Uint8Array<ArrayBuffer> },
  ): Promise<unknown> => {
    let response: Response;
    let text: string;
    try {
      response = await fetch(baseUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(content === undefined ? {} : { 'content-type': content.type }),
        },
        ...(content === undefined ? {} : { body: content.body }),
        signal: AbortSignal.any([stopped, AbortSignal.timeout(callTimeoutMs)]),
      });
      text = await response.text();
    } catch (error: unknown) {
      const { message, cause } = toError(error);
      const why = cause instanceof Error ? cause.message : message;
      throw new ServiceError('SERVICE_UNREACHABLE', `${method} ${path}: ${why}`, {
        retryable: true,
        cause: error,
      });
    }
    if (!response.ok) {
      throw new ServiceError(
        'SERVICE_REFUSED',
        `${method} ${path}: ${response.status} ${text.slice(0, 500)}`,
        {
          status: response.status,
          retryable: false,
        },
      );
    }
    return text === '' ? null : JSON.parse(text);
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    put: (path, body) => call('PUT', path, body),
    upload: (path, bytes) => send('POST', path, { type: 'application/octet-stream', body: bytes }),
  };
}
