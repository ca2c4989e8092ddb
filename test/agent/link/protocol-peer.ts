import { randomUUID } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Value } from 'typebox/value';
import { agentRoutes, type AgentRoute, type RequestOf } from '../../../src/protocol/routes.ts';
import type { Result } from '../../../src/protocol/result.ts';

/**
 * The service's side of the agent protocol, small and strict: it checks every request against the table of routes and
 * every step against the state of the job, and can be told to misbehave. What an agent must never do ends up in
 * `violations`.
 */

export type PeerJob = Record<string, unknown> & { jobId: string; leaseToken: string };
type Tracked = {
  job: PeerJob;
  state: 'queued' | 'leased' | 'released' | 'done';
  reported: Map<string, Result>;
};
type Misbehave = (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
) => boolean | Promise<boolean>;

export type ProtocolPeer = Awaited<ReturnType<typeof startProtocolPeer>>;

export const peerKey = 'pl_0123456789abcdef0123456789abcdef';
export const ownError = (message: string) => ({ message, attributes: {} });

export async function startProtocolPeer(
  options: {
    port?: number;
    leaseSeconds?: number;
    renewSeconds?: number;
    batchItems?: number;
    timeOffsetMs?: number;
    protocolMinor?: number;
    /** Of one artifact; nearly nothing unless a test has any. */
    artifactBytes?: number;
  } = {},
) {
  const violations: string[] = [];
  const calls: { route: AgentRoute; body: unknown }[] = [];
  const jobs = new Map<string, Tracked>();
  const results: Result[] = [];
  const events: unknown[] = [];
  const releases: (RequestOf<'release'> & { jobId: string })[] = [];
  const bundles = new Map<string, Buffer>();
  const artifacts = new Map<string, Buffer>();
  const faults = new Map<AgentRoute, Misbehave>();
  const lose = new Set<string>();
  const cancel = new Set<string>();
  const agentIds = new Set<string>();
  let waiters: (() => void)[] = [];
  const slots: number[] = [];

  const reply = (response: ServerResponse, status: number, body?: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };
  const knows = (response: ServerResponse, agentId: string) => {
    if (agentIds.has(agentId)) return true;
    reply(response, 404, ownError('unknown agent'));
    return false;
  };

  const handlers: {
    [R in AgentRoute]: (body: RequestOf<R>, response: ServerResponse, jobId: string) => unknown;
  } = {
    artifactStates: ({ artifacts }, response) => {
      reply(response, 200, { accepted: artifacts.length });
    },
    hello: (_body, response) => {
      const agentId = randomUUID();
      agentIds.add(agentId);
      reply(response, 200, {
        agentId,
        location: { id: randomUUID(), name: 'Here', slugName: 'here' },
        leaseSeconds: options.leaseSeconds ?? 30,
        renewSeconds: options.renewSeconds ?? 5,
        limits: {
          resultBytes: 2 ** 21,
          batchBytes: 2 ** 24,
          batchItems: options.batchItems ?? 500,
          artifactBytes: options.artifactBytes ?? 1,
        },
        protocolMinor: options.protocolMinor ?? 1,
        time: new Date(Date.now() + (options.timeOffsetMs ?? 0)).toISOString(),
        fieldOfALaterVersion: true,
      });
    },
    claim: async (body, response) => {
      if (!knows(response, body.agentId)) return;
      const waitUntil = Date.now() + body.waitSeconds * 1000;
      let gone = false;
      response.on('close', () => {
        gone = true;
        for (const wake of waiters.splice(0)) wake();
      });
      for (;;) {
        if (gone) return;
        const taken = (['uptime', 'browser', 'suite'] as const).flatMap((lane) =>
          [...jobs.values()]
            .filter(({ state, job }) => state === 'queued' && job['lane'] === lane)
            .slice(0, body.free[lane] ?? 0),
        );
        if (taken.length > 0) {
          slots.push(body.free.uptime ?? 0);
          for (const entry of taken) entry.state = 'leased';
          return reply(response, 200, { jobs: taken.map(({ job }) => job) });
        }
        const left = waitUntil - Date.now();
        if (left <= 0) return reply(response, 204);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          waiters.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
    },
    renew: (body, response) => {
      if (!knows(response, body.agentId)) return;
      const renewed: string[] = [];
      const lost: string[] = [];
      for (const { jobId, leaseToken } of body.leases) {
        const entry = jobs.get(jobId);
        const ours = entry?.job.leaseToken === leaseToken && entry.state !== 'done' && !lose.has(jobId);
        (ours ? renewed : lost).push(jobId);
        if (entry?.state === 'released') violations.push(`renewed ${jobId} after its release`);
      }
      const leaseExpiresAt = new Date(Date.now() + 30_000).toISOString();
      reply(response, 200, { renewed, lost, cancel: renewed.filter((id) => cancel.has(id)), leaseExpiresAt });
    },
    results: (body, response) => {
      if (!knows(response, body.agentId)) return;
      const items = (body.results as Result[]).map((result) => {
        const { jobId, attempt } = result;
        const entry = jobs.get(jobId);
        if (entry === undefined) return { jobId, attempt, outcome: 'rejected', reason: 'no such job' };
        const key = `${attempt} ${result.leaseToken}`;
        if (entry.reported.has(key)) return { jobId, attempt, outcome: 'duplicate' };
        if (entry.state === 'done') return { jobId, attempt, outcome: 'superseded' };
        if (entry.state === 'queued') violations.push(`result for ${jobId}, which nobody has claimed`);
        entry.reported.set(key, result);
        results.push(result);
        if (result.resultType === 'FINAL') entry.state = 'done';
        return { jobId, attempt, outcome: 'stored' };
      });
      reply(response, 200, { items });
    },
    release: (body, response, jobId) => {
      const entry = jobs.get(jobId);
      if (entry?.state !== 'leased' || entry.job.leaseToken !== body.leaseToken) {
        violations.push(`release of ${jobId} in state ${entry?.state}`);
        return reply(response, 200, { outcome: 'lost' });
      }
      entry.state = 'released';
      releases.push({ jobId, ...body });
      reply(response, 200, { outcome: 'released' });
    },
    events: (body, response) => {
      events.push(...body.events);
      reply(response, 200, { accepted: body.events.length });
    },
  };

  /** Code bundles and artifacts, as far as an agent needs them; false = it is another call. */
  const serveFile = ({ method, url = '' }: IncomingMessage, response: ServerResponse, body: Buffer) => {
    const bundle = method === 'GET' ? bundles.get(url.replace('/agent/v1/bundles/', '')) : undefined;
    const name = /^\/agent\/v1\/jobs\/[^/]+\/attempts\/\d+\/artifacts\/([^/]+)$/.exec(url)?.[1];
    if (bundle !== undefined) response.writeHead(200).end(bundle);
    else if (name !== undefined && method === 'HEAD') response.writeHead(404).end();
    else if (name !== undefined && method === 'PUT') {
      artifacts.set(name, body);
      reply(response, 201, { state: 'stored', size: body.length });
    } else return false;
    return true;
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? '';
    if (serveFile(request, response, Buffer.concat(chunks))) return;
    const jobId = /^\/agent\/v1\/jobs\/([^/]+)\/release$/.exec(path)?.[1] ?? '';
    const route = (Object.keys(agentRoutes) as AgentRoute[]).find(
      (name) => agentRoutes[name].path.replace(':jobId', jobId) === path,
    );
    if (route === undefined || request.method !== 'POST') {
      violations.push(`${request.method} ${path}`);
      return reply(response, 404, ownError('no such route'));
    }
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    calls.push({ route, body });
    if (!Value.Check(agentRoutes[route].request, body)) violations.push(`${route}: malformed request`);
    if (await faults.get(route)?.(request, response, body)) return;
    if (request.headers.authorization !== `Bearer ${peerKey}`)
      return reply(response, 401, ownError('wrong key'));
    await handlers[route](body as never, response, jobId);
  };

  const server = http.createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      violations.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    port,
    url: new URL(`http://127.0.0.1:${port}`),
    violations,
    calls,
    results,
    releases,
    events,
    jobs,
    /** Code bundles by key, and artifacts by name as they came. */
    bundles,
    artifacts,
    lose,
    cancel,
    slots,
    /** Claims that wait for a job. */
    waiting: () => waiters.length,
    /** The agent is unknown from now on, as after a restore of the service. */
    forgetAgents: () => agentIds.clear(),
    /** Answers calls of a route in another way; return false to let a call through. */
    misbehave: (route: AgentRoute, how: Misbehave) => faults.set(route, how),
    behave: (route?: AgentRoute) => (route === undefined ? faults.clear() : faults.delete(route)),
    add: (job: PeerJob) => {
      jobs.set(job.jobId, { job, state: 'queued', reported: new Map() });
      for (const wake of waiters.splice(0)) wake();
      return job;
    },
    close: () =>
      new Promise<void>((resolve) => {
        for (const wake of waiters.splice(0)) wake();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A TCP job as the service hands it out, for `port` of 127.0.0.1. */
export function tcpJob(port: number, more: Record<string, unknown> = {}): PeerJob {
  const { request, ...rest } = more as { request?: object };
  return {
    jobId: randomUUID(),
    runId: randomUUID(),
    sequenceId: randomUUID(),
    checkId: randomUUID(),
    checkName: 'a port',
    checkType: 'TCP',
    lane: 'uptime',
    runLocation: 'here',
    runSource: 'SCHEDULER',
    dueAt: new Date().toISOString(),
    attempt: 1,
    firstAttemptAt: null,
    leaseToken: randomUUID(),
    leaseExpiresAt: new Date(Date.now() + 30_000).toISOString(),
    deadline: new Date(Date.now() + 600_000).toISOString(),
    shouldFail: false,
    degradedResponseTime: 3000,
    maxResponseTime: 5000,
    retryStrategy: null,
    environmentVariables: [],
    proxyUrl: null,
    request: { hostname: '127.0.0.1', port, data: null, ipFamily: 'IPv4', assertions: [], ...request },
    ...rest,
  };
}

/** A job of a Playwright suite. */
export function suiteJob(more: Record<string, unknown> = {}): PeerJob {
  const { suite, ...rest } = more as { suite?: object };
  const { request: _, ...common } = tcpJob(1);
  return {
    ...common,
    checkName: 'a suite',
    checkType: 'PLAYWRIGHT',
    lane: 'suite',
    deadline: new Date(Date.now() + 3_600_000).toISOString(),
    degradedResponseTime: null,
    maxResponseTime: null,
    suite: { bundle: { key: 'a-bundle', digest: '0'.repeat(64), size: 1 }, ...suite },
    ...rest,
  };
}

export const retryStrategy = (more: Record<string, unknown> = {}) => ({
  type: 'FIXED',
  baseBackoffSeconds: 0.05,
  maxRetries: 2,
  maxDurationSeconds: 600,
  sameRegion: true,
  onlyOn: [],
  ...more,
});
