import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { exitCodes, FatalError } from '../../errors.ts';
import type { Guard } from './guard-rules.ts';
import { codeOf } from '../../system-errors.ts';
import { createAnswerLimits } from '../../unread-answers.ts';
import { boundConnections, shared } from './health-connections.ts';

export type AgentState = 'starting' | 'running' | 'draining';

/** The content of the health page. */
export type HealthView = {
  state: AgentState;
  version: string;
  guards: readonly Guard[];
  /** Our clock minus the service's; null before the first hello. */
  clockSkewMs: number | null;
  /** Results of this process that were lost: to the limits of the outbox, and at least this many to damaged files. */
  lostResults: { dropped: number; damaged: number };
  /** False if a loop of the agent is stuck. */
  alive: boolean;
  /** Its own condition has kept it from taking jobs for a minute. */
  takesNoJobs: boolean;
};

/** Probes and metrics for operators: plain node:http, on all interfaces unless a host is given. */
export type HealthServer = { url: string; close: () => Promise<void> };

/** A page that answers by itself. */
export type HealthPage = {
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  close: () => void;
};

/** Connections while /probe is open: Prometheus may probe many targets at the same moment. */
const probeConnections = 1024;

/** Node looks for clients that exceed these times every second; its default of 30 s would let them stay. */
const clientLimits = {
  requestTimeout: 10_000,
  headersTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8192,
};

/** No client of this port sends a request before it has the answer to the one before; a few are allowed all the same. */
const answerLimits = { unreadMs: 5_000, waiting: 8 };

/** Opens the port (0 = any free one). Throws FatalError PORT_IN_USE. */
export async function startHealthServer(options: {
  port: number;
  /** An address of this machine; null = all. */
  host?: string | null;
  view: () => HealthView;
  metricsPage: () => Promise<{ contentType: string; body: string }>;
  /** Answers /probe; null = there is no such page. It is closed with the server. */
  probe?: HealthPage | null;
}): Promise<HealthServer> {
  const metricsPage = shared(options.metricsPage);
  const probe = options.probe ?? null;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '/').split('?', 1)[0];
    const view = options.view();
    const isProbe = path === '/probe' && probe !== null;
    const status = isProbe ? 200 : statusOf(path, view);
    if (status === null) return json(response, 404, { message: 'page not found' });
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return json(response, 405, { message: 'only GET is allowed' });
    }
    if (isProbe) return probe.answer(request, response);
    if (path === '/metrics') {
      const page = await metricsPage();
      response.writeHead(200, { 'content-type': page.contentType });
      response.end(page.body);
      return;
    }
    const { alive: _alive, takesNoJobs: _takesNoJobs, ...body } = view;
    json(response, status, body);
  };
  const limitAnswer = createAnswerLimits(answerLimits);
  const server = http.createServer(clientLimits, (request, response) => {
    if (!limitAnswer(request, response)) return;
    answer(request, response).catch(() => response.destroy());
  });
  boundConnections(server, probe === null ? undefined : probeConnections);
  await listen(server, options.port, options.host ?? null);
  const { port } = server.address() as AddressInfo; // it listens on a TCP port
  return {
    url: `http://${urlHost(options.host ?? null)}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        probe?.close();
      }),
  };
}

function statusOf(path: string | undefined, view: HealthView): number | null {
  switch (path) {
    case '/health':
    case '/metrics':
      return 200;
    case '/-/readiness':
      return view.state === 'running' && !view.takesNoJobs ? 200 : 503;
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

/** An address in the URL of the health port; loopback for all addresses. */
function urlHost(host: string | null): string {
  if (host === null || host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

async function listen(server: Server, port: number, wanted: string | null): Promise<void> {
  const on = (host: string) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  try {
    await on(wanted ?? '::').catch((error: NodeJS.ErrnoException) => {
      // A host without IPv6.
      if (wanted !== null) throw error;
      if (error.code !== 'EAFNOSUPPORT' && error.code !== 'EADDRNOTAVAIL') throw error;
      return on('0.0.0.0');
    });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EADDRNOTAVAIL' && wanted !== null) {
      const text = `AGENT_HEALTH_HOST: this machine has no address ${wanted}; use one of its own, or 127.0.0.1`;
      throw new FatalError('PORT_IN_USE', text, { exitCode: exitCodes.couldNotRun, cause: error });
    }
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${code})`;
    throw new FatalError('PORT_IN_USE', `AGENT_HEALTH_PORT: port ${port} ${why}`, {
      exitCode: exitCodes.couldNotRun,
      remedy: 'choose another one',
      cause: error,
    });
  }
}
