import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'undici';

/**
 * Agents as far as the protocol goes: they claim with long polls, "run" each job for a moment and report it, and turn to the
 * next replica when one does not answer, as behind a load balancer. For tests and benchmarks of replicas.
 */

export type AgentRun = {
  jobId: string;
  runId: string;
  checkId: string;
  /** Milliseconds since the epoch. */
  dueAt: number;
  startedAt: number;
  /** What the service said of its result; null = not acknowledged yet. */
  outcome: string | null;
};

export type ProtocolAgents = {
  runs: AgentRun[];
  /** Takes no more jobs; resolves when all results are acknowledged. */
  stop(): Promise<void>;
};

export type ProtocolAgentsOptions = {
  /** Of the replicas; may change. */
  urls: readonly string[];
  /** Of the locations: agents are spread over them. */
  keys: readonly string[];
  count: number;
  slots: number;
  /** How long a run takes. */
  runMs: number;
  statusOf?: (checkId: string) => 'passed' | 'failed';
};

export type ProtocolJob = {
  jobId: string;
  leaseToken: string;
  runId: string;
  sequenceId: string;
  checkId: string;
  checkType: string;
  runLocation: string;
  attempt: number;
  dueAt: string;
};

const batch = 100;
const retryMs = 100;
const sendMs = 50;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function startProtocolAgents(options: ProtocolAgentsOptions): ProtocolAgents {
  const runs: AgentRun[] = [];
  const stopping = new AbortController();
  // All agents and their calls listen to it.
  setMaxListeners(0, stopping.signal);
  const agents = Array.from({ length: options.count }, (_, index) =>
    runAgent(options, { index, runs, signal: stopping.signal }),
  );
  return {
    runs,
    stop: async () => {
      stopping.abort();
      await Promise.all(agents);
    },
  };
}

async function runAgent(
  { urls, keys, slots, runMs, statusOf }: ProtocolAgentsOptions,
  { index, runs, signal }: { index: number; runs: AgentRun[]; signal: AbortSignal },
): Promise<void> {
  const dispatcher = new Agent({ connections: 4, pipelining: 1, connectTimeout: 2_000 });
  const key = keys[index % keys.length] ?? '';
  let turn = index;
  let agentId = '';
  const instanceId = randomUUID();
  const running = new Set<Promise<void>>();
  const finished: { result: object; run: AgentRun }[] = [];

  /** The answer, or null where there is none: a replica that is gone, an error of the service, nothing to do. */
  async function call<T>(path: string, body: unknown, until?: AbortSignal): Promise<T | null> {
    try {
      const answer = await request(`${urls[turn % urls.length]}/agent/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        dispatcher,
        ...(until === undefined ? {} : { signal: until }),
      });
      const text = await answer.body.text();
      if (answer.statusCode === 200) return JSON.parse(text) as T;
      if (answer.statusCode === 204) return null;
      if (answer.statusCode === 409) await hello();
      else turn++;
    } catch {
      turn++;
    }
    if (!signal.aborted) await pause(retryMs);
    return null;
  }

  async function hello(): Promise<void> {
    const host = {
      hostname: 'h',
      platform: 'linux',
      arch: 'x64',
      nodeVersion: 'v20',
      cores: 1,
      memoryBytes: 1,
    };
    const said = { instanceId, version: '1.0.0', protocolMinor: 1, host, runtimes: [] };
    const abilities = { checkTypes: ['URL', 'API', 'TCP', 'DNS', 'ICMP'], lanes: { uptime: slots } };
    const answer = await call<{ agentId: string }>('hello', { ...said, ...abilities });
    if (answer !== null) agentId = answer.agentId;
  }

  async function runJob(job: ProtocolJob): Promise<void> {
    const { jobId, runId, checkId } = job;
    const run: AgentRun = {
      jobId,
      runId,
      checkId,
      dueAt: Date.parse(job.dueAt),
      startedAt: Date.now(),
      outcome: null,
    };
    runs.push(run);
    await pause(runMs);
    finished.push({
      run,
      result: resultOf(job, { startedAt: run.startedAt, status: statusOf?.(checkId) ?? 'passed' }),
    });
  }

  async function claims(): Promise<void> {
    while (!signal.aborted) {
      if (agentId === '') {
        await hello();
        continue;
      }
      const free = slots - running.size;
      if (free <= 0) {
        await Promise.race(running);
        continue;
      }
      const answer = await call<{ jobs: ProtocolJob[] }>(
        'jobs/claim',
        { agentId, free: { uptime: free }, waitSeconds: 20 },
        signal,
      );
      for (const job of answer?.jobs ?? []) {
        const done: Promise<void> = runJob(job).finally(() => running.delete(done));
        running.add(done);
      }
    }
    await Promise.all(running);
  }

  let claiming = true;
  async function reports(): Promise<void> {
    while (claiming || finished.length > 0) {
      const some = finished.slice(0, batch);
      const answer =
        some.length === 0
          ? null
          : await call<{ items: { outcome: string; reason?: string }[] }>('results', {
              agentId,
              results: some.map(({ result }) => result),
            });
      if (answer === null) {
        await pause(sendMs);
        continue;
      }
      finished.splice(0, some.length);
      for (const [at, { run }] of some.entries()) run.outcome = answer.items[at]?.outcome ?? 'none';
    }
  }

  await Promise.all([claims().finally(() => (claiming = false)), reports()]);
  await dispatcher.destroy();
}

/** A URL check's result as an agent makes it: certificate, headers, phases. */
export function resultOf(
  job: ProtocolJob,
  { startedAt, status }: { startedAt: number; status: 'passed' | 'failed' },
): object {
  const { jobId, leaseToken, attempt, sequenceId, checkId, checkType, runLocation } = job;
  const stoppedAt = Date.now();
  // As servers send them: most are the same each time.
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': '1532',
    date: new Date(startedAt).toUTCString(),
    server: 'nginx/1.26.2',
    'cache-control': 'no-store, max-age=0, must-revalidate',
    etag: 'W/"5fc-Zk3tQ0w8mY1rVbK2nX7uJp4sLhA"',
    vary: 'accept-encoding, origin',
    connection: 'keep-alive',
    'strict-transport-security': 'max-age=63072000; includeSubDomains; preload',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'x-request-id': randomUUID(),
  };
  const isFailed = status === 'failed';
  return {
    jobId,
    leaseToken,
    attempt,
    sequenceId,
    checkId,
    checkType,
    resultType: 'FINAL',
    status,
    hasFailures: isFailed,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: stoppedAt - startedAt,
    startedAt: new Date(startedAt).toISOString(),
    stoppedAt: new Date(stoppedAt).toISOString(),
    runLocation,
    attempts: attempt - 1,
    reason: isFailed
      ? { code: 'ASSERTION_FAILED', owner: 'target', message: 'STATUS_CODE EQUALS 200: it is 500' }
      : null,
    assertions: [
      {
        source: 'STATUS_CODE',
        property: '',
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: isFailed ? '500' : '200',
        error: isFailed ? 'expected 200, got 500' : null,
      },
    ],
    timings: {
      dns: 1.2,
      connect: 10.5,
      tls: 22.1,
      firstByte: 31.4,
      download: 2.2,
      remainder: 0.4,
      total: 67.8,
    },
    details: {
      request: { method: 'GET', url: 'https://shop.example.com/api/v1/health?full=1' },
      response: {
        status: isFailed ? 500 : 200,
        statusText: isFailed ? 'Error' : 'OK',
        headers,
        bodyBytes: 1532,
      },
      addresses: [{ address: '10.1.2.3', family: 4 }],
      certificate: {
        subject: 'shop.example.com',
        issuer: 'Example CA',
        daysRemaining: 61,
        protocol: 'TLSv1.3',
      },
    },
    artifacts: [],
    log: [],
    agentVersion: '1.0.0',
  };
}
