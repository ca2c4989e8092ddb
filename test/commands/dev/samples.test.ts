import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { createApiClient } from '../../../src/commands/dev/api.ts';
import type { SampleCheck } from '../../../src/commands/dev/sample-checks.ts';
import { syncSamples } from '../../../src/commands/dev/samples.ts';

/** Sample checks of a start on a machine that is too busy to answer every request. */

const samples: SampleCheck[] = [
  { type: 'URL', name: 'One', body: { name: 'One', request: {} } },
  { type: 'MULTI_STEP', name: 'Two', body: { name: 'Two', script: '' } },
];
type Known = { id: string; name: string; checkType: string };

let server: Server | null = null;
afterEach(() => server?.close());

/** A service with checks. `lose` = the request gets no answer, and `after` it was carried out. */
async function service(
  lose: (request: string) => 'before' | 'after' | 'never' | null,
  stopped?: AbortSignal,
) {
  const checks: Known[] = [];
  const asked: string[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const { name } = JSON.parse(body === '' ? '{}' : body) as { name?: string };
    const line = `${request.method} ${request.url?.split('?')[0]}`;
    asked.push(line);
    const lost = lose(line);
    if (lost === 'never') return;
    if (lost === 'before') return void request.socket.destroy();
    let content: unknown = checks;
    if (request.method === 'POST') {
      const checkType = request.url === '/v1/checks/url' ? 'URL' : 'MULTI_STEP';
      content = { id: `id-${checks.length}`, name, checkType };
      checks.push(content as Known);
    } else if (request.method === 'PUT') {
      content = checks.find(({ id }) => request.url?.endsWith(id));
    }
    if (lost === 'after') return void request.socket.destroy();
    response.end(JSON.stringify(content));
  };
  server = createServer((request, response) => {
    let body = '';
    request
      .on('data', (chunk: Buffer) => (body += chunk.toString()))
      .on('end', () => answer(request, response, body));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number }; // it listens on TCP
  return { api: createApiClient(`http://127.0.0.1:${port}`, 'key', stopped), checks, asked };
}
const never = new AbortController().signal;

test('requests without an answer are repeated, and no check is made twice', async () => {
  const lost: { [request: string]: 'before' | 'after' } = {
    'GET /v1/checks': 'before',
    'POST /v1/checks/url': 'after',
  };
  const { api, checks } = await service((request) => {
    const how = lost[request] ?? null;
    delete lost[request];
    return how;
  });
  expect(await syncSamples(api, samples, never)).toEqual([
    { id: 'id-0', name: 'One', isNew: true },
    { id: 'id-1', name: 'Two', isNew: true },
  ]);
  expect(checks.map(({ name }) => name)).toEqual(['One', 'Two']);
  expect((await syncSamples(api, samples, never)).map(({ isNew }) => isNew)).toEqual([false, false]);
}, 30_000);

test('a stop ends the repetitions', async () => {
  const stop = new AbortController();
  const { api, asked } = await service(() => 'before');
  setTimeout(() => stop.abort(new Error('stopped')), 300);
  await expect(syncSamples(api, samples, stop.signal)).rejects.toThrow();
  expect(asked.length).toBeLessThanOrEqual(2);
}, 30_000);

test('a stop does not wait for an answer', async () => {
  const stop = new AbortController();
  const { api } = await service(() => 'never', stop.signal);
  const startedAt = performance.now();
  setTimeout(() => stop.abort(new Error('stopped')), 300);
  await expect(syncSamples(api, samples, stop.signal)).rejects.toThrow();
  expect(performance.now() - startedAt).toBeLessThan(8000);
  server?.closeAllConnections();
}, 30_000);
