import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createServer } from '../../../src/service/http/server.ts';

/** Requests whose host or length is ambiguous, on raw sockets: clients would not send them. */

let app: FastifyInstance;
let port: number;
/** Paths that reached a route. */
const reached: string[] = [];

beforeAll(async () => {
  app = await createServer({});
  app.route({
    method: ['GET', 'POST'],
    url: '/*',
    handler: async ({ url }) => {
      reached.push(url);
      return { url };
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  ({ port } = app.server.address() as AddressInfo); // it listens on TCP
});
afterAll(() => app.close());

/** Sends `text` and returns all that is answered until the server closes. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(text));
    let answered = '';
    socket.on('data', (chunk) => (answered += chunk.toString()));
    socket.on('error', reject).on('close', () => resolve(answered));
  });
}
const statuses = (answered: string) =>
  [...answered.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
const request = (line: string, ...headers: string[]) => `${[line, ...headers].join('\r\n')}\r\n\r\n`;
const close = 'connection: close';

test.each([
  ['two hosts', request('GET /a HTTP/1.1', 'host: a.example', 'host: b.example', close), 'must be sent once'],
  [
    'the same host twice',
    request('GET /a HTTP/1.1', 'host: a.example', 'Host: a.example', close),
    'must be sent once',
  ],
  ['a host with credentials', request('GET /a HTTP/1.1', 'host: x@a.example', close), 'is not a valid host'],
  ['a host with a path', request('GET /a HTTP/1.1', 'host: a.example/b', close), 'is not a valid host'],
  [
    'two hosts in one header',
    request('GET /a HTTP/1.1', 'host: a.example, b.example', close),
    'is not a valid host',
  ],
  [
    'another host in the request line',
    request('GET http://b.example/a HTTP/1.1', 'host: a.example', close),
    'must be the host of the request line',
  ],
  [
    'another port in the request line',
    request('GET http://a.example:81/a HTTP/1.1', 'host: a.example', close),
    'must be the host of the request line',
  ],
])('%s is refused with 400 that names the field', async (_what, text, reason) => {
  reached.length = 0;
  const answered = await exchange(text);
  expect(statuses(answered)).toEqual(['400']);
  expect(JSON.parse(answered.slice(answered.indexOf('\r\n\r\n')))).toMatchObject({
    attributes: { host: [reason] },
  });
  expect(reached).toEqual([]);
});

test.each([
  ['no host', request('GET /a HTTP/1.1', close)],
  [
    'two lengths',
    `${request('POST /a HTTP/1.1', 'host: a', 'content-length: 1', 'content-length: 2', close)}ab`,
  ],
  [
    'chunks and a length',
    `${request('POST /a HTTP/1.1', 'host: a', 'content-length: 4', 'transfer-encoding: chunked', close)}0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n`,
  ],
  [
    'a length and chunks',
    `${request('POST /a HTTP/1.1', 'host: a', 'transfer-encoding: chunked', 'content-length: 4', close)}0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n`,
  ],
  [
    'another coding after the chunks',
    `${request('POST /a HTTP/1.1', 'host: a', 'transfer-encoding: chunked, identity', close)}0\r\n\r\n`,
  ],
  ['a space before the colon', `${request('POST /a HTTP/1.1', 'host: a', 'content-length : 5', close)}GET /`],
  ['a signed length', `${request('POST /a HTTP/1.1', 'host: a', 'content-length: +1', close)}a`],
  ['a bare line feed in the head', 'GET /a HTTP/1.1\r\nhost: a\nx: y\r\n\r\n'],
])('%s is refused with one 400, and nothing behind it is served', async (_what, text) => {
  reached.length = 0;
  expect(statuses(await exchange(text))).toEqual(['400']);
  expect(reached).toEqual([]);
});

test.each([
  ['GET /a HTTP/1.1', 'host: a.example:4400'],
  ['GET /a HTTP/1.1', 'host: [::1]:4400'],
  ['GET http://A.example/a HTTP/1.1', 'host: a.example'],
])('%s with %s is served', async (line, host) => {
  expect(statuses(await exchange(request(line, host, close)))).toEqual(['200']);
});
