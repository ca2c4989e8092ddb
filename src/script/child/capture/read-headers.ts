import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { secretsOfHeader } from '../sensitive-headers.ts';
import type { Method, Methods } from './wrap.ts';

/** Values that one process reports; a script that reads more headers gets the later ones masked by name only. */
const maxValues = 200;

type Header = { name?: unknown; value?: unknown };

/**
 * Reports the values of sensitive headers when a script reads them from a request or response of a page or an API call.
 * All of Playwright's methods for headers read them from one class. Never throws: with a release that has no such class
 * the headers are masked by their names only.
 */
export function watchReadHeaders(options: {
  require: NodeJS.Require;
  coreFolder: string;
  onSecret: (value: string) => void;
}): void {
  try {
    const path = join(options.coreFolder, 'lib', 'client', 'network.js');
    if (!existsSync(path)) return;
    const { RawHeaders } = options.require(path) as { RawHeaders?: { prototype: Methods } }; // checked below
    if (RawHeaders !== undefined) watchClass(RawHeaders.prototype, options.onSecret);
  } catch {
    // Treated like a release without this file.
  }
}

function watchClass(prototype: Methods, onSecret: (value: string) => void): void {
  const seen = new WeakSet<object>();
  const values = new Set<string>();
  const see = (headers: object): void => {
    if (seen.has(headers)) return;
    seen.add(headers);
    const list = (headers as { _headersArray?: unknown })._headersArray;
    if (!Array.isArray(list)) return;
    for (const { name, value } of list as Header[]) {
      if (typeof name !== 'string' || typeof value !== 'string') continue;
      for (const secret of secretsOfHeader(name, value)) {
        if (values.has(secret) || values.size >= maxValues) continue;
        values.add(secret);
        onSecret(secret);
      }
    }
  };
  for (const name of ['headers', 'headersArray', 'get', 'getAll']) {
    const original = prototype[name];
    if (typeof original !== 'function') continue;
    const read: Method = function (this: unknown, ...args) {
      if (typeof this === 'object' && this !== null) see(this);
      return (original as Method).apply(this, args); // checked above
    };
    Object.defineProperty(prototype, name, { value: read, writable: true, configurable: true });
  }
}
