/**
 * Internals of undici, read from release 7.30.2. test/library-internals/undici.test.ts fails with any other release: read the
 * named files again, then change the number there.
 */
import Client from 'undici/lib/dispatcher/client.js';

/**
 * undici's client for one connection, imported from its own file: the package's main entry loads all of undici, which
 * costs an agent 9 MB of memory and 70 ms.
 */
export const UndiciClient: typeof Client = Client;

/**
 * Error that closes a socket without the cost of a new error's stack. The code must not be UND_ERR_INFO, because
 * undici would retry the request then (`onError` in lib/dispatcher/client.js).
 */
export const finished = Object.assign(new Error('the exchange is finished'), { code: 'UND_ERR_ABORTED' });

/**
 * Errors created in this turn of the event loop get no stack. Call it when a response is complete: undici then
 * creates its own error to close the connection (`onMessageComplete` in lib/dispatcher/client-h1.js). Nobody sees
 * that error, and its stack would cost a tenth of a complete probe.
 */
export function withoutStacks(): void {
  const { stackTraceLimit } = Error;
  if (stackTraceLimit === 0) return;
  Error.stackTraceLimit = 0;
  queueMicrotask(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}
