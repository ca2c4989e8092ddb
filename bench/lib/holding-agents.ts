import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent, request } from 'undici';
import { betweenCallsMs } from '../../src/agent/outbox/patience.ts';
import type { Assignment, KeepingAnswer } from '../../src/protocol/assignments.ts';
import { nextDue, scheduledJobId, scheduledRunId } from '../../src/protocol/schedule.ts';
import {
  resultOf,
  type AgentRun,
  type ProtocolAgents,
  type ProtocolAgentsOptions,
} from '../../test/helpers/service/protocol-agents.ts';
import { holdingHello } from './holding-hello.ts';

/** Agents that hold checks, as far as the protocol goes: they "run" each for a moment when it is due, and report it. */

const batch = 500;
const retryMs = 100;
const tickMs = 10;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function startHoldingAgents(options: ProtocolAgentsOptions): ProtocolAgents {
  const runs: AgentRun[] = [];
  const stopping = new AbortController();
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

type Held = { check: Assignment; dueAt: number };
type Finished = { result: object; run: AgentRun };

async function runAgent(
  { urls, keys, slots, runMs, statusOf }: ProtocolAgentsOptions,
  { index, runs, signal }: { index: number; runs: AgentRun[]; signal: AbortSignal },
): Promise<void> {
  const dispatcher = new Agent({ connections: 4, pipelining: 1, connectTimeout: 2_000 });
  const key = keys[index % keys.length] ?? '';
  const instanceId = randomUUID();
  const held = new Map<string, Held>();
  const running = new Set<Promise<void>>();
  const finished: Finished[] = [];
  let turn = index;
  let agentId = '';
  let cursor: string | null = null;

  /** The answer, or null where there is none. */
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
      if (answer.statusCode === 409) agentId = '';
      else if (answer.statusCode !== 204) turn++;
    } catch {
      turn++;
    }
    if (!signal.aborted) await pause(retryMs);
    return null;
  }

  async function hello(): Promise<void> {
    const answer = await call<{ agentId: string }>('hello', holdingHello({ instanceId, slots }));
    if (answer !== null) ({ agentId } = answer);
    cursor = null;
  }

  function take({ keeping }: { keeping: KeepingAnswer }): void {
    for (const check of keeping.checks as Assignment[]) {
      const known = held.get(check.checkId);
      held.set(check.checkId, { check, dueAt: Math.max(known?.dueAt ?? check.from, check.from) });
    }
    for (const id of keeping.dropped) held.delete(id);
    ({ cursor } = keeping);
  }

  async function claims(): Promise<void> {
    while (!signal.aborted) {
      if (agentId === '') {
        await hello();
        continue;
      }
      const answer = await call<{ keeping: KeepingAnswer }>(
        'jobs/claim',
        { agentId, free: {}, waitSeconds: 10, keeping: { cursor, reportedTo: null } },
        signal,
      );
      if (answer !== null) take(answer);
    }
  }

  async function runOne({ checkId, locationId, holder, job }: Assignment, dueAt: number): Promise<void> {
    const jobId = scheduledJobId(checkId, locationId, dueAt);
    const runId = scheduledRunId(checkId, dueAt);
    const startedAt = Date.now();
    const run: AgentRun = { jobId, runId, checkId, dueAt, startedAt, outcome: null };
    runs.push(run);
    await pause(runMs);
    const own = {
      jobId,
      runId,
      checkId,
      leaseToken: holder,
      sequenceId: randomUUID(),
      checkType: String(job['checkType']),
      runLocation: String(job['runLocation']),
      attempt: 1,
      dueAt: new Date(dueAt).toISOString(),
    };
    const result = resultOf(own, { startedAt, status: statusOf?.(checkId) ?? 'passed' });
    finished.push({ run, result: { ...result, dueAt: own.dueAt } });
  }

  async function timetable(): Promise<void> {
    while (!signal.aborted) {
      const now = Date.now();
      for (const item of held.values()) {
        if (item.dueAt > now) continue;
        const done: Promise<void> = runOne(item.check, item.dueAt).finally(() => running.delete(done));
        running.add(done);
        item.dueAt = nextDue(item.check, item.dueAt);
      }
      await pause(tickMs);
    }
    await Promise.all(running);
  }

  let isRunning = true;
  async function reports(): Promise<void> {
    while (isRunning || finished.length > 0) {
      await pause(isRunning ? betweenCallsMs : 0);
      const some = finished.slice(0, batch);
      if (some.length === 0) continue;
      const results = some.map(({ result }) => result);
      const answer = await call<{ items: { outcome: string }[] }>('results', { agentId, results });
      if (answer === null) continue;
      finished.splice(0, some.length);
      for (const [at, { run }] of some.entries()) run.outcome = answer.items[at]?.outcome ?? 'none';
    }
  }

  await Promise.all([claims(), timetable().finally(() => (isRunning = false)), reports()]);
  await dispatcher.destroy();
}
