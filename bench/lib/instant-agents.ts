/**
 * Simulated agents in a process of their own, one for each location key: they read their assignments, as agents do, and then send
 * runs that ended at once, in calls as far apart as those of an agent in which nothing happens. Argument 1 has their options as JSON.
 */
import { setMaxListeners } from 'node:events';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { betweenCallsMs, createPatience } from '../../src/agent/outbox/patience.ts';
import type { Assignment, KeepingAnswer } from '../../src/protocol/assignments.ts';
import { lastDue, scheduledJobId } from '../../src/protocol/schedule.ts';
import { resultOf } from '../../test/helpers/service/protocol-agents.ts';
import { holdingHello } from './holding-hello.ts';

export type InstantOptions = { urls: string[]; keys: string[]; checks: number };
export type InstantFigures = { stored: number; others: number };

/** A result that is later than this is not uneventful. */
const promptMs = 7_000;
const batch = 500;
const { urls, keys, checks } = JSON.parse(process.argv[2] ?? '{}') as InstantOptions;
const dispatcher = new Agent({ connections: keys.length * 2, pipelining: 1 });
const never = new AbortController().signal;
setMaxListeners(0, never);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What an agent must know of a check to send results; a real one has the whole job. */
type Held = {
  checkId: string;
  locationId: string;
  holder: string;
  intervalSeconds: number;
  offsetSeconds: number;
  runLocation: string;
  reported: number;
};

const agents = keys.map((key, index) => ({ key, url: urls[index % urls.length] ?? '', id: '', cursor: '' }));
type OneAgent = (typeof agents)[number];
const held = new Map<OneAgent, Map<string, Held>>(agents.map((agent) => [agent, new Map()]));
let isStopping = false;
let isSending = false;
const figures: InstantFigures = { stored: 0, others: 0 };

async function call<T>({ key, url }: OneAgent, path: string, body: unknown): Promise<T | null> {
  const answer = await request(`${url}/agent/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    dispatcher,
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`);
  return text === '' ? null : (JSON.parse(text) as T);
}

async function claim(agent: OneAgent): Promise<void> {
  const own = held.get(agent) ?? new Map<string, Held>();
  const cursor = agent.cursor === '' ? null : agent.cursor;
  const answer = await call<{ keeping: KeepingAnswer }>(agent, 'jobs/claim', {
    agentId: agent.id,
    free: {},
    waitSeconds: 10,
    keeping: { cursor, reportedTo: null },
  });
  if (answer === null) return;
  for (const { checkId, locationId, holder, intervalSeconds, offsetSeconds, job } of answer.keeping
    .checks as Assignment[]) {
    const runLocation = String(job['runLocation']);
    own.set(checkId, {
      checkId, locationId, holder, intervalSeconds, offsetSeconds, runLocation, reported: 0,
    }); // prettier-ignore
  }
  for (const id of answer.keeping.dropped) own.delete(id);
  agent.cursor = answer.keeping.cursor ?? '';
}

async function claims(agent: OneAgent): Promise<void> {
  const answer = await call<{ agentId: string }>(
    agent,
    'hello',
    holdingHello({ instanceId: randomUUID(), slots: 100 }),
  );
  agent.id = answer?.agentId ?? '';
  while (!isStopping) {
    await claim(agent).catch((error: unknown) => {
      if (!isStopping) process.stderr.write(`${String(error)}\n`);
      return pause(500);
    });
  }
}

/** Results of checks whose moment has just been. */
async function sends(agent: OneAgent): Promise<void> {
  const own = held.get(agent) ?? new Map<string, Held>();
  const patience = createPatience();
  // Agents do not send at the same moments.
  await pause(Math.random() * betweenCallsMs);
  while (!isStopping) {
    await patience.wait(never);
    const now = Date.now();
    const results: object[] = [];
    for (const check of isSending ? own.values() : []) {
      const dueAt = lastDue(check, now);
      if (dueAt <= check.reported) continue;
      const isFirst = check.reported === 0;
      check.reported = dueAt;
      if (now - dueAt > promptMs) {
        if (!isFirst) figures.others += 1;
        continue;
      }
      const { checkId, holder, locationId, runLocation } = check;
      const job = { jobId: scheduledJobId(checkId, locationId, dueAt), leaseToken: holder, checkId };
      const rest = { runId: '', sequenceId: randomUUID(), checkType: 'URL', attempt: 1, runLocation };
      const due = new Date(dueAt).toISOString();
      const result = resultOf({ ...job, ...rest, dueAt: due }, { startedAt: dueAt, status: 'passed' });
      results.push({ ...result, dueAt: due, responseTime: 50 });
      if (results.length === batch) break;
    }
    if (results.length === 0) continue;
    // What does not fit follows at once.
    if (results.length === batch) patience.hurry();
    const answer = await call<{ items: { outcome: string }[] }>(agent, 'results', {
      agentId: agent.id,
      results,
    }).catch(() => null);
    if (answer === null) figures.others += results.length;
    for (const { outcome } of answer?.items ?? []) figures[outcome === 'stored' ? 'stored' : 'others'] += 1;
  }
}

const heldCount = () => [...held.values()].reduce((sum, own) => sum + own.size, 0);

process.on('message', (message) => {
  if (message === 'send') isSending = true;
  else if (message === 'figures') process.send?.({ ...figures } satisfies InstantFigures);
});
process.stdin.resume().once('end', () => {
  isStopping = true;
  process.exit(0);
});
for (const agent of agents) {
  void claims(agent);
  void sends(agent);
}
while (heldCount() < checks) await pause(200);
process.stdout.write('{"ready":true}\n');
