import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { agentRoutes, type AgentRoute, type RequestOf, type ResponseOf } from '../../protocol/routes.ts';
import { protocolLimits, serviceTimeHeader } from '../../protocol/agent-calls.ts';
import type { QueueWaits } from '../locations/sampling.ts';
import { registerAgentBundles } from './bundles.ts';
import { noteArtifactStates, registerAgentArtifacts } from './artifacts.ts';
import { claim } from './claims.ts';
import { claimKept } from './keeping.ts';
import { keptChannel } from '../keeping/statements.ts';
import { conditionOf } from './condition.ts';
import { hello, textOf } from './hello.ts';
import type { ArtifactFiles } from '../artifacts/files.ts';
import type { AgentCallLimits } from './call-limits.ts';
import { createKeyCheck, type KeyCheck } from './keys.ts';
import { releaseJob } from './release.ts';
import { bodyLimits, bodyParser } from './request-body.ts';
import { storeResults } from './results.ts';
import { createWaiting, type Waiting } from '../scheduling/waiting-agents.ts';
import { insertAgentEvents, touchAgent, type AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import { findOvertakenLeases, renewLeases } from '../scheduling/jobs-lease.ts';
import { createPartitions, type Partitions } from '../db/partitions.ts';
import { createResultBases } from '../results/bases.ts';
import { createHourMarks } from '../results/rollups-due.ts';
import type { KnownStored } from './quiet-results.ts';
import { appendRunLogs, runLogLimits } from '../results/log-statements.ts';
import type { Encryption } from '../engine/encryption.ts';
import { HttpError } from '../http/errors.ts';
import type { WrongKeys } from '../http/wrong-keys.ts';
import { acceptGzip } from '../http/gzip-body.ts';
import { uuidPattern, uuidv7 } from '../engine/ids.ts';
import { toJsonb } from '../db/jsonb.ts';
import { lastLines } from '../sessions/rules.ts';

/** Routes of the agent protocol, `/agent/v1`. The calls and their schemas are in protocol/routes.ts. */

export type AgentRoutesDeps = {
  db: Db;
  encryption: Encryption;
  now: () => number;
  random: () => number;
  log: Log;
  /** Storage for the files of runs; null = this service accepts none. */
  files: ArtifactFiles | null;
  /** Called with the time that each run waited for an agent; optional. */
  waits?: Pick<QueueWaits, 'record'>;
  /** Days that results are kept; absent = the default. */
  resultDays?: number;
  wrongKeys?: WrongKeys | undefined;
  /** Limits of rare calls; absent = none. */
  limits?: AgentCallLimits | undefined;
  /** From when on agents may hold checks and keep their schedule; null or absent = never. */
  keepingFrom?: number | null | undefined;
  /** From when on bodies of uneventful results may be stored without what they repeat; absent = always. */
  basesFrom?: number;
  /** Storage of code bundles; absent = this service has none. */
  bundles?: ArtifactFiles;
};

/** Leases that one statement renews. */
const renewStep = 200;

type Call = { location: AgentLocation; request: FastifyRequest; reply: FastifyReply };

type Parts = AgentRoutesDeps & {
  partitions: Partitions;
  known: KnownStored;
  waiting: Waiting;
  /** Agents that wait for changes of the checks that they hold. */
  keptWaiting: Waiting;
  keepingFrom: number | null;
  /** Variables that cannot be read and that the log names. */
  unreadable: Set<string>;
  /** Fires before the server closes. */
  stopping: AbortSignal;
};

/** Adds the agent routes in a separate scope, where unknown fields are ignored, unlike in the public API. */
export async function registerAgentRoutes(app: FastifyInstance, deps: AgentRoutesDeps): Promise<void> {
  const { db, now, log } = deps;
  const waiting = createWaiting(db);
  const keptWaiting = createWaiting(db, keptChannel);
  const { keepingFrom = null } = deps;
  const keyCheck = createKeyCheck(deps);
  const { locationOf } = keyCheck;
  const stopping = new AbortController();
  await keyCheck.start();
  await waiting.start();
  if (keepingFrom !== null) await keptWaiting.start();
  // Runs before the server waits for active requests, because long polls would delay it.
  app.addHook('preClose', async () => stopping.abort());
  app.addHook('onClose', () => keyCheck.stop());
  app.addHook('onClose', () => waiting.stop());
  app.addHook('onClose', () => keptWaiting.stop());
  const shared = {
    partitions: createPartitions(db),
    known: { bases: createResultBases(deps.basesFrom), hours: createHourMarks(now) },
    waiting,
    keptWaiting,
    keepingFrom,
    unreadable: new Set<string>(),
  };
  const parts = { ...deps, ...shared, stopping: stopping.signal };

  await app.register(async (scope) => {
    acceptGzip(scope);
    const route = createRoute(scope, { locationOf, limits: deps.limits, now });
    route('hello', (body, { location }) => hello(parts, location, body));
    route('claim', (body, call) => claimJobs(parts, call, body));
    route('renew', (body, { location }) => renew(parts, location, body));
    route('results', async ({ agentId, results }, { location }) => ({
      items: await storeResults(parts, { ...location, agentId }, results),
    }));
    route('release', async (release, { location, request }) => {
      const { jobId } = request.params as { jobId: string }; // the path has this parameter
      if (!uuidPattern.test(jobId) || !uuidPattern.test(release.leaseToken)) return { outcome: 'lost' };
      return { outcome: await releaseJob(parts, { location, jobId, release }) };
    });
    route('artifactStates', async ({ artifacts }, { location }) => ({
      accepted: await noteArtifactStates(deps, location, artifacts),
    }));
    route('events', (body, { location }) => storeEvents(parts, location, body));
  });
  const { files } = deps;
  if (files !== null) await registerAgentArtifacts(app, { db, files, now, log, locationOf });
  if (deps.bundles !== undefined) registerAgentBundles(app, { db, bundles: deps.bundles, locationOf });
}

/** Adds routes of the protocol: each checks the key and the body, then calls `answer`; undefined = 204. */
function createRoute(
  scope: FastifyInstance,
  parts: { locationOf: KeyCheck['locationOf']; limits: AgentCallLimits | undefined; now: () => number },
) {
  return <R extends AgentRoute>(
    name: R,
    answer: (body: RequestOf<R>, call: Call) => Promise<ResponseOf<R> | string | undefined>,
  ) => {
    const { method, path, request: schema } = agentRoutes[name];
    const parse = bodyParser<RequestOf<R>>(schema);
    const { bytes: bodyLimit, shape } = bodyLimits[name];
    scope.route({
      method,
      url: path,
      bodyLimit,
      config: { shape },
      onRequest: async (request) => {
        // The key is checked before the body is read, so bodies of unknown clients are not read.
        const location = await parts.locationOf(request);
        const declared = Number(request.headers['content-length']);
        parts.limits?.countCall(name, location, Number.isNaN(declared) ? 0 : declared);
        locations.set(request, location);
      },
      handler: async (request, reply) => {
        const location = locations.get(request);
        if (location === undefined) throw new Error('the onRequest hook has not run');
        const value = await answer(parse(request.body), { location, request, reply });
        void reply.header(serviceTimeHeader, new Date(parts.now()).toISOString());
        if (value === undefined) return reply.code(204).send();
        return reply
          .type('application/json; charset=utf-8')
          .send(typeof value === 'string' ? value : JSON.stringify(value));
      },
    });
  };
}

/** Waits for jobs and returns them as JSON; undefined = none within the time. */
async function claimJobs(
  parts: Parts,
  { location, request }: Call,
  body: RequestOf<'claim'>,
): Promise<string | undefined> {
  const { agentId, free, waitSeconds, keeping } = body;
  const condition = conditionOf(body);
  const gone = new AbortController();
  const onClose = () => gone.abort();
  request.raw.socket.once('close', onClose);
  try {
    const signal = AbortSignal.any([gone.signal, parts.stopping]);
    if (!uuidPattern.test(agentId)) throw noSuchAgent();
    if (keeping !== undefined) {
      const answer = await claimKept(parts, { location, agentId, keeping, waitSeconds, condition, signal });
      if (answer === null) throw noSuchAgent();
      return JSON.stringify({ jobs: [], keeping: answer });
    }
    const jobs = await claim(parts, {
      location,
      agentId,
      free,
      waitSeconds,
      condition,
      signal,
      gone: gone.signal,
    });
    if (jobs === null) throw noSuchAgent();
    // Assembled from texts, because each job was serialised once, to measure its size.
    return jobs.length === 0 ? undefined : `{"jobs":[${jobs.join(',')}]}`;
  } finally {
    request.raw.socket.off('close', onClose);
  }
}

const noSuchAgent = () =>
  new HttpError(409, 'The location has no such agent, or its settings have changed. Send hello first.', {
    agentId: ['names no agent of this location that has its present settings'],
  });

async function renew(
  { db, now, log }: Parts,
  location: AgentLocation,
  body: RequestOf<'renew'>,
): Promise<ResponseOf<'renew'>> {
  const { agentId, leases } = body;
  const time = now();
  const leaseExpiresAt = new Date(time + protocolLimits.leaseSeconds * 1000);
  const { locationId } = location;
  if (uuidPattern.test(agentId)) {
    const condition = conditionOf(body);
    await touchAgent(db, { id: agentId, locationId, condition, now: new Date(time) });
  }
  const known = leases
    .filter(({ jobId, leaseToken }) => uuidPattern.test(jobId) && uuidPattern.test(leaseToken))
    .map(({ jobId, leaseToken, stage, log: lines = [] }) => ({
      jobId,
      leaseToken,
      stage: stage === undefined ? null : textOf(stage),
      lines,
    }));
  const renewed = new Set<string>();
  const cancel = new Set<string>();
  for (let from = 0; from < known.length; from += renewStep) {
    const some = known.slice(from, from + renewStep);
    for (const row of await renewLeases(db, { locationId, leases: some, leaseExpiresAt })) {
      renewed.add(row.id);
      if (row.cancelRequested) cancel.add(row.id);
    }
    const logLines = some
      .filter(({ jobId, lines }) => lines.length > 0 && renewed.has(jobId))
      .map(({ jobId, lines }) => ({ jobId, lines: lastLines(lines, runLogLimits) }));
    // Leases and cancellations matter more than log lines, so an error here is only logged.
    await appendRunLogs(db, logLines).catch((error: unknown) =>
      log.warn({ error: toError(error).message }, 'log lines of running suites could not be stored'),
    );
    const others = some.filter(({ jobId }) => !renewed.has(jobId));
    if (others.length === 0) continue;
    for (const id of await findOvertakenLeases(db, { locationId, leases: others })) cancel.add(id);
  }
  return {
    renewed: [...renewed],
    lost: leases.map(({ jobId }) => jobId).filter((id) => !renewed.has(id) && !cancel.has(id)),
    cancel: [...cancel],
    leaseExpiresAt: leaseExpiresAt.toISOString(),
  };
}

async function storeEvents(
  { db, now, limits }: Parts,
  location: AgentLocation,
  { agentId, events }: RequestOf<'events'>,
): Promise<ResponseOf<'events'>> {
  const time = now();
  const texts = events.map(toJsonb);
  limits?.countEvents(
    location,
    texts.reduce((bytes, text) => bytes + text.length, 0),
  );
  await insertAgentEvents(
    db,
    texts.map((event) => ({
      id: uuidv7(time),
      locationId: location.locationId,
      agentId: uuidPattern.test(agentId) ? agentId : null,
      event,
      now: new Date(time),
    })),
  );
  return { accepted: events.length };
}

/** The location of each active request, between its hook and its handler. */
const locations = new WeakMap<FastifyRequest, AgentLocation>();
