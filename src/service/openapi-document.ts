import { buildApp } from './app.ts';
import type { Background } from './engine/background.ts';
import type { Db } from './db/database.ts';
import { createEncryption } from './engine/encryption.ts';

function unused(): never {
  throw new Error('the OpenAPI document is generated without a database');
}

/** The document needs only the routes' schemas, so no request is ever served. */
const noDatabase: Db = {
  kind: 'embedded',
  query: unused,
  exec: unused,
  tx: unused,
  listen: unused,
  notify: unused,
  close: unused,
};

const noBackground: Background = {
  handle: unused,
  send: unused,
  sendAll: unused,
  prepare: unused,
  start: unused,
  stop: unused,
  tick: unused,
};

/** Returns the text of docs/openapi.json: the OpenAPI document of the public API, indented, with a final newline. */
export async function openApiText(): Promise<string> {
  const app = await buildApp({
    db: noDatabase,
    background: noBackground,
    encryption: createEncryption('unused'),
    now: Date.now,
  });
  const document = app.swagger();
  await app.close();
  return `${JSON.stringify(document, null, 1)}\n`;
}
