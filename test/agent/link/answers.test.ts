import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createServiceClient } from '../../../src/agent/link/client.ts';
import { createTransport } from '../../../src/agent/link/transport.ts';

/** Which answers show that the service is there. */

const refusal = JSON.stringify({ message: 'no', attributes: {} });

const told = '2026-03-04T05:06:07.089Z';

test.each([
  { name: 'success', status: 204, body: '', isHeard: true },
  { name: 'a refusal', status: 409, body: refusal, isHeard: true },
  { name: 'too many requests', status: 429, body: refusal, isHeard: true },
  { name: 'a database that is away', status: 503, body: refusal, isHeard: false },
  { name: 'a proxy that refuses', status: 403, body: 'no', isHeard: false },
  { name: 'a proxy without a service', status: 502, body: 'no', isHeard: false },
])('$name ($status)', async ({ status, body, isHeard }) => {
  const server = http.createServer((_request, response) =>
    response.writeHead(status, { 'service-time': told }).end(body),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a TCP port
  const serviceUrl = new URL(`http://127.0.0.1:${port}`);
  const proxy = { httpProxy: null, httpsProxy: null, noProxy: '' };
  const transport = await createTransport({ serviceUrl, proxy, extraCaFile: null, headers: {} });
  const client = createServiceClient({ transport, serviceUrl, now: Date.now, onKeyRefused: () => undefined });
  const heard: (number | undefined)[] = [];
  client.onAnswer((time) => heard.push(time?.serviceTime));
  const claim = { agentId: 'a', free: {}, waitSeconds: 0 };
  await client.call('claim', claim, { timeoutMs: 5_000 }).catch(() => undefined);
  // Something on the way can refuse a call in the service's form: only an accepted call tells the time.
  expect(heard).toEqual(isHeard ? [status === 204 ? Date.parse(told) : undefined] : []);
  transport.close();
  server.closeAllConnections();
  server.close();
});
