import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A minimal service side of the agent protocol: it hands out jobs and counts results. */
export type ProtocolPeer = {
  url: string;
  /** Hands out `count` jobs from `job` as fast as slots are free. Resolves when all results have arrived. */
  feed: (count: number, job: (id: string) => Record<string, unknown>) => Promise<Record<string, number>>;
  close: () => void;
};

export function helloAnswer(): Record<string, unknown> {
  return {
    agentId: randomUUID(),
    location: { id: randomUUID(), name: 'bench', slugName: 'bench' },
    leaseSeconds: 30,
    renewSeconds: 5,
    limits: { resultBytes: 2_097_152, batchBytes: 16_777_216, batchItems: 500, artifactBytes: 157_286_400 },
    protocolMinor: 1,
    time: new Date().toISOString(),
  };
}

export function renewAnswer(body: Record<string, unknown>): Record<string, unknown> {
  return {
    renewed: (body['leases'] as { jobId: string }[]).map(({ jobId }) => jobId),
    lost: [],
    cancel: [],
    leaseExpiresAt: new Date(Date.now() + 30_000).toISOString(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}

export async function startProtocolPeer(): Promise<ProtocolPeer> {
  let left = 0;
  let waiting = 0;
  let make: (id: string) => Record<string, unknown> = () => ({});
  let statuses: Record<string, number> = {};
  let done: () => void = () => undefined;
  // A claim without work waits, as with the real service.
  const idle: (() => void)[] = [];

  const routes: Record<string, (body: Record<string, unknown>) => Promise<unknown>> = {
    '/agent/v1/hello': async () => helloAnswer(),
    '/agent/v1/jobs/claim': async (body) => {
      const free = (body['free'] as { uptime?: number }).uptime ?? 0;
      // The other lanes have no work. If they were answered at once, they would poll in a tight loop.
      if (left === 0 || free === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Number(body['waitSeconds']) * 1000);
          idle.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      const count = Math.min(free, left, 500);
      left -= count;
      return count === 0 ? null : { jobs: Array.from({ length: count }, () => make(randomUUID())) };
    },
    '/agent/v1/jobs/renew': async (body) => renewAnswer(body),
    '/agent/v1/results': async (body) => {
      const results = body['results'] as { jobId: string; attempt: number; status: string }[];
      for (const { status } of results) statuses[status] = (statuses[status] ?? 0) + 1;
      waiting -= results.length;
      if (waiting <= 0) done();
      return { items: results.map(({ jobId, attempt }) => ({ jobId, attempt, outcome: 'stored' })) };
    },
  };
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const answer = await routes[request.url ?? '']?.(body);
      if (answer === undefined || answer === null) response.writeHead(answer === null ? 204 : 404).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP server's address
    feed: (count, job) =>
      new Promise((resolve) => {
        statuses = {};
        make = job;
        left = waiting = count;
        done = () => resolve(statuses);
        for (const wake of idle.splice(0)) wake();
      }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The fields of a job that do not depend on the check type. */
export function jobOf(jobId: string, fields: Record<string, unknown>): Record<string, unknown> {
  const now = new Date().toISOString();
  return {
    jobId,
    runId: jobId,
    sequenceId: jobId,
    checkId: '00000000-0000-4000-8000-000000000001',
    checkName: 'bench',
    lane: 'uptime',
    runLocation: 'bench',
    runSource: 'SCHEDULER',
    dueAt: now,
    attempt: 1,
    firstAttemptAt: null,
    leaseToken: randomUUID(),
    leaseExpiresAt: new Date(Date.now() + 30_000).toISOString(),
    deadline: new Date(Date.now() + 60_000).toISOString(),
    shouldFail: false,
    degradedResponseTime: 5000,
    maxResponseTime: 10_000,
    retryStrategy: null,
    environmentVariables: [],
    proxyUrl: null,
    ...fields,
  };
}
