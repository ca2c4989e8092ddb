import {
  createServer,
  request as httpRequest,
  Agent,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { closer, listen } from '../../src/targets/tcp-target.ts';
import { deliveryKey, type RemadeRun } from './facts.ts';

/** What stands between agents and services: a reverse proxy over all replicas, and the faults of the way. */

export type Fault =
  | 'reset'
  | 'hang'
  | 'cut answer'
  | 'lose answer'
  | 'garble answer'
  | 'repeat request'
  | { status: number }
  | { delayMs: number };

export type Front = {
  port: number;
  url: string;
  setReplicas: (ports: readonly number[]) => void;
  /** Asked for each request; null = it passes. */
  setFault: (fault: (request: IncomingMessage) => Fault | null) => void;
  /** How often each fault was done. */
  counts: Map<string, number>;
  /** Deliveries whose result a service has answered as superseded, even if the answer was lost on the way. */
  superseded: Set<string>;
  /** Results that a service has answered as duplicates of those that it has. */
  remade: RemadeRun[];
  /** Ends all connections of clients. */
  sever: () => void;
  close: () => Promise<void>;
};

/** Passes an answer on with one wrong byte in its middle, and complete: an answer that stops is another fault. */
function garble(answer: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  answer.on('end', () => {
    const body = Buffer.concat(chunks);
    if (body.length > 0) body[Math.floor(body.length / 2)] = 0x07;
    response.writeHead(answer.statusCode ?? 502, answer.headers).end(body);
  });
}

type Noted = { superseded: Set<string>; remade: RemadeRun[] };

/** What a service answered to each result of a request; nothing if the answer is no such list. */
function noteOutcomes(request: Buffer, answer: Buffer, { superseded, remade }: Noted): void {
  try {
    const { results } = JSON.parse(request.toString()) as {
      results: { jobId: string; leaseToken: string; checkId: string; startedAt: string; stoppedAt: string }[];
    };
    const { items } = JSON.parse(answer.toString()) as { items: { outcome: string }[] };
    for (const [index, { jobId, leaseToken, checkId, startedAt, stoppedAt }] of results.entries()) {
      const { outcome } = items[index] ?? {};
      if (outcome === 'superseded') superseded.add(deliveryKey(jobId, leaseToken));
      if (outcome === 'duplicate')
        remade.push({ checkId, from: Date.parse(startedAt), to: Date.parse(stoppedAt) });
    }
  } catch {
    // A fault has spoiled it, or the service refused it.
  }
}

export async function startFront(options: { host?: string } = {}): Promise<Front> {
  const agent = new Agent({ keepAlive: false });
  let replicas: readonly number[] = [];
  let turn = 0;
  let choose: (request: IncomingMessage) => Fault | null = () => null;
  const counts = new Map<string, number>();
  const superseded = new Set<string>();
  const remade: RemadeRun[] = [];

  const watch = (path: string | undefined, body: Buffer, answer: IncomingMessage) => {
    if (path !== '/agent/v1/results') return;
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
    answer.on('end', () => noteOutcomes(body, Buffer.concat(chunks), { superseded, remade }));
  };

  function pass(request: IncomingMessage, body: Buffer, response: ServerResponse, fault: Fault | null): void {
    const port = replicas[(turn += 1) % Math.max(1, replicas.length)];
    if (port === undefined) return void response.writeHead(502).end();
    const upstream = httpRequest(
      { host: '127.0.0.1', port, agent, method: request.method, path: request.url, headers: request.headers },
      (answer) => {
        watch(request.url, body, answer);
        if (fault === 'lose answer') {
          answer.resume();
          answer.on('end', () => response.destroy());
          return;
        }
        if (fault === 'garble answer') return garble(answer, response);
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        if (fault === 'cut answer') {
          answer.once('data', (chunk: Buffer) => {
            response.write(chunk.subarray(0, chunk.length / 2), () => response.destroy());
          });
          answer.on('end', () => response.end());
          return;
        }
        answer.pipe(response);
      },
    );
    upstream.on('error', () => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    });
    response.on('close', () => upstream.destroy());
    upstream.end(body);
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => response.destroy());
    response.on('error', () => response.destroy());
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const fault = choose(request);
      if (fault !== null) {
        const name =
          typeof fault === 'string' ? fault : 'status' in fault ? `status ${fault.status}` : 'delay';
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      if (fault === 'reset') return void request.socket.resetAndDestroy();
      if (fault === 'hang') return;
      if (fault !== null && typeof fault === 'object') {
        if ('status' in fault)
          return void response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<h1>no</h1>');
        setTimeout(() => pass(request, body, response, null), fault.delayMs);
        return;
      }
      if (fault === 'repeat request') {
        const first = httpRequest(
          {
            host: '127.0.0.1',
            port: replicas[0],
            agent,
            method: request.method,
            path: request.url,
            headers: request.headers,
          },
          (answer) => {
            watch(request.url, body, answer);
            answer.resume().on('end', () => pass(request, body, response, null));
          },
        );
        first.on('error', () => response.destroy());
        first.end(body);
        return;
      }
      pass(request, body, response, fault);
    });
  });
  server.requestTimeout = 0;
  const close = closer(server);
  const port = await listen(server, options);
  return {
    port,
    url: `http://${options.host ?? '127.0.0.1'}:${port}`,
    setReplicas: (ports) => void (replicas = ports),
    setFault: (fault) => void (choose = fault),
    counts,
    superseded,
    remade,
    sever: () => server.closeAllConnections(),
    close: async () => {
      await close();
      agent.destroy();
    },
  };
}
