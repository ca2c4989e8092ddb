/** Calls to the service, with the API key from this tab's session storage. */

const storage = 'api-key';

export const key = {
  isThere: (): boolean => sessionStorage.getItem(storage) !== null,
  keep: (given: string): void => sessionStorage.setItem(storage, given),
  forget: (): void => sessionStorage.removeItem(storage),
};

/** The service refused the key. */
export class RefusedKey extends Error {}
/** The service did not answer. */
export class Unreachable extends Error {}

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${sessionStorage.getItem(storage)}`);
  let answer;
  try {
    answer = await fetch(path, { ...init, headers });
  } catch {
    throw new Unreachable('no connection');
  }
  if (answer.status === 401) throw new RefusedKey('This key was refused.');
  if (!answer.ok) throw new Error(await errorOf(answer));
  return answer;
}

/** Extracts the service's own error message. Errors in another format come from a proxy in front of the service. */
async function errorOf(answer: Response): Promise<string> {
  const body: unknown = await answer.json().catch(() => null);
  if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string')
    return body.message;
  throw new Unreachable(`status ${answer.status}`);
}

/**
 * Reads JSON from a route; `Body` is the type that the route returns. Throws RefusedKey, Unreachable, or an error with
 * the service's message.
 */
export async function get<Body>(path: string): Promise<Body> {
  const answer = await call(path);
  try {
    return (await answer.json()) as Body; // the service's own format
  } catch {
    throw new Unreachable('no JSON');
  }
}

/** Cancels a run of a session. */
export async function cancelRun(cancelPath: string, sequenceId: string): Promise<void> {
  await call(cancelPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sequenceId: [sequenceId] }),
  });
}

/** Reads a stored file. The key is sent to this service only, whatever host the URL names. */
export async function fileAt(url: string): Promise<Blob> {
  const { pathname } = new URL(url, location.href);
  return (await call(pathname)).blob();
}
