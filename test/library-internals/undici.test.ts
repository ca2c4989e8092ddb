import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { Client } from 'undici';
import { finished, UndiciClient, withoutStacks } from '../../src/executors/http/undici-client.ts';
import { listening } from '../helpers/network/http.ts';
import { createServer as createHttpServer } from 'node:http';

/** What undici-client.ts was read from. With another release: read the files that it names again, then change the number. */
const readFrom = '7.30.2';

const load = createRequire(import.meta.url);
const textOf = (file: string) => readFileSync(load.resolve(`undici/${file}`), 'utf8');

test('undici is the release that was read', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string };
  expect(version).toBe(readFrom);
});

test('the file of the client has the class that the front door exports', () => {
  expect(Object.getOwnPropertyNames(UndiciClient.prototype)).toEqual(
    Object.getOwnPropertyNames(Client.prototype),
  );
});

test('undici closes the connection of a complete response with an error from the same turn', async () => {
  const target = await listening(createHttpServer((_request, response) => response.end('ok')));
  const client = new UndiciClient(`http://127.0.0.1:${target.port}`, { pipelining: 1 });
  const { stackTraceLimit } = Error;
  const stacks: (string | undefined)[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('disconnect', (_origin, _targets, error) => {
        stacks.push(error.stack);
        resolve();
      });
      client.dispatch(
        { path: '/', method: 'GET', reset: true },
        {
          onRequestStart: () => undefined,
          onResponseEnd: withoutStacks,
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  } finally {
    client.destroy().catch(() => undefined);
    await target.close();
  }
  // Only the message: no line of a stack frame.
  expect(stacks).toEqual([expect.stringMatching(/^InformationalError: reset$/)]);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
});

test('a request whose socket ends with our error is not sent again', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number }; // a TCP server has this kind
  const client = new UndiciClient(`http://127.0.0.1:${port}`, { pipelining: 1 });
  const failed = new Promise<Error>((resolve) => {
    client.dispatch(
      { path: '/', method: 'GET' },
      {
        onRequestStart: (controller) => queueMicrotask(() => controller.abort(finished)),
        onResponseError: (_controller, error) => resolve(error),
      },
    );
  });
  expect(await failed).toBe(finished);
  await client.destroy();
  expect(connections).toBe(1);
  server.close();
});
