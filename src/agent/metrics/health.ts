import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exitCodes, FatalError } from '../../errors.ts';
import type { Guard } from './guards.ts';
import { codeOf } from '../../system-errors.ts';

export type AgentState = 'starting' | 'running' | 'draining';

/** The content of the health page. */
export type HealthView = {
  state: AgentState;
  version: string;
  guards: readonly Guard[];
  /** Our clock minus the service's; null before the first hello. */
  clockSkewMs: number | null;
  /** False if a loop of the agent is stuck. */
  alive: boolean;
};

/** Probes and metrics for operators: plain node:http on all interfaces. */
export type HealthServer = { url: string; close: () => Promise<void> };

/** Opens the port (0 = any free one). Throws FatalError PORT_IN_USE. */
export async function startHealthServer(options: {
  port: number;
  view: () => HealthView;
  metricsPage: () => Promise<{ contentType: string; body: string }>;
}): Promise<HealthServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '/').split('?', 1)[0];
    const view = options.view();
    const status = statusOf(path, view);
    if (status === null) return json(response, 404, { message: 'page not found' });
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return json(response, 405, { message: 'only GET is allowed' });
    }
    if (path === '/metrics') {
      const page = await options.metricsPage();
      response.writeHead(200, { 'content-type': page.contentType });
      response.end(page.body);
      return;
    }
    const { alive: _alive, ...body } = view;
    json(response, status, body);
  };
  const server = http.createServer({ requestTimeout: 10_000, headersTimeout: 5000 }, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.maxConnections = 256;
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo; // it listens on a TCP port
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function statusOf(path: string | undefined, view: HealthView): number | null {
  switch (path) {
    case '/health':
    case '/metrics':
      return 200;
    case '/-/readiness':
      return view.state === 'running' ? 200 : 503;
    case '/-/liveness':
      return view.alive ? 200 : 503;
    default:
      return null;
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

async function listen(server: Server, port: number): Promise<void> {
  const on = (host: string) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  try {
    await on('::').catch((error: NodeJS.ErrnoException) => {
      // A host without IPv6.
      if (error.code !== 'EAFNOSUPPORT' && error.code !== 'EADDRNOTAVAIL') throw error;
      return on('0.0.0.0');
    });
  } catch (error) {
    const code = codeOf(error);
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${code})`;
    throw new FatalError('PORT_IN_USE', `AGENT_HEALTH_PORT: port ${port} ${why}; choose another one`, {
      exitCode: exitCodes.couldNotRun,
      cause: error,
    });
  }
}
