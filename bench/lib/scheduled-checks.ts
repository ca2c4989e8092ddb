import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Db } from '../../src/service/db/database.ts';
import { uuidv7 } from '../../src/service/engine/ids.ts';
import type { AgentsReport } from './scheduling-agents.ts';
import { percentile } from './processes.ts';

/** One-minute checks, their service and agents, and the outcome of each due time. */

export const intervalMs = 60_000;

/** Creates checks at the account's first location, with due times spread over their interval. Returns their ids. */
export async function addChecks(
  db: Db,
  {
    accountId,
    count,
    seconds = 60,
    url = 'https://shop.example.com/api/v1/health?full=1',
    slug = null,
  }: {
    accountId: string;
    count: number;
    seconds?: number;
    url?: string;
    /** Of the location; null = the first one that is found. */
    slug?: string | null;
  },
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7());
  const definition = {
    request: {
      method: 'GET',
      url,
      followRedirects: true,
      skipSSL: false,
      ipFamily: 'IPv4',
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', property: '', regex: null }],
    },
    degradedResponseTime: 3000,
    maxResponseTime: 5000,
    doubleCheck: true,
    retryStrategy: null,
    environmentVariables: [],
    description: 'A check of the benchmark, as long as descriptions tend to be',
  };
  const start = Date.now();
  const periodMs = seconds * 1000;
  const period = Math.floor(start / periodMs) * periodMs;
  const offsets = ids.map((_, n) => ((n * 7919) % count) * (seconds / count));
  await db.query(
    `insert into checks (id, account_id, check_type, name, private_locations, frequency, interval_seconds, offset_seconds,
       next_due_at, definition)
     select item.id, $2, 'URL', 'Check of the benchmark', array[coalesce($7, (select slug_name from locations limit 1))], 1, $6, item.after,
       item.due, $3::jsonb
     from unnest($1::uuid[], $4::float8[], $5::timestamptz[]) as item (id, after, due)`,
    [
      ids,
      accountId,
      JSON.stringify(definition),
      offsets,
      offsets.map((after) => {
        const due = period + after * 1000;
        return new Date(due > start ? due : due + periodMs);
      }),
      seconds,
      slug,
    ],
  );
  return ids;
}

export type Replica = { child: ChildProcess; url: string; accountId: string };

/** For profiles: `BENCH_NODE_OPTIONS=--inspect=0`. */
export const nodeOptions = (process.env['BENCH_NODE_OPTIONS'] ?? '')
  .split(' ')
  .filter((option) => option !== '');

/** Starts the compiled `service` command; `before` has words to put before it (taskset). */
export async function startReplica(
  env: Record<string, string>,
  before: readonly string[] = [],
): Promise<Replica> {
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  const words = [...before, process.execPath, ...nodeOptions, main, 'service'];
  const program = words.shift() ?? process.execPath;
  const child = spawn(program, words, {
    env: {
      PATH: process.env['PATH'] ?? '',
      LOG_LEVEL: 'WARN',
      SERVICE_PORT: '0',
      NODE_ENV: 'production',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]; // readline's event
  const { serviceUrl, accountId } = JSON.parse(line) as { serviceUrl: string; accountId: string };
  return { child, url: serviceUrl, accountId };
}

/** Starts agents in a separate process; `stop` returns their runs. */
export async function startAgents(options: {
  urls: string[];
  keys: string[];
  count: number;
  slots: number;
  runMs: number;
  failing?: string[];
  /** The agents hold checks. */
  holds?: boolean;
}): Promise<{ stop: () => Promise<AgentsReport['runs']> }> {
  const file = fileURLToPath(new URL('./scheduling-agents.js', import.meta.url));
  const child = fork(file, [JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] });
  if (child.stdout !== null) await once(createInterface({ input: child.stdout }), 'line');
  return {
    stop: async () => {
      const reported = once(child, 'message') as Promise<[AgentsReport]>;
      child.stdin?.end();
      const [{ runs }] = await reported;
      return runs;
    },
  };
}

/** The figures of the runs that were due from `from` to `to` (milliseconds since the epoch). */
export function figuresOf(
  runs: AgentsReport['runs'],
  {
    ids,
    from,
    to,
    periodMs = intervalMs,
  }: { ids: readonly string[]; from: number; to: number; periodMs?: number },
): {
  expected: number;
  lost: number;
  doubled: number;
  lags: number[];
  p50: number;
  p99: number;
  worst: number;
} {
  const seen = new Map<string, number>();
  const lags: number[] = [];
  for (const { checkId, dueAt, startedAt, outcome } of runs) {
    if (dueAt < from || dueAt >= to) continue;
    lags.push(startedAt - dueAt);
    const key = `${checkId} ${dueAt}`;
    if (outcome === 'stored' || outcome === 'duplicate') seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  // Each check is due once per full interval.
  const expected = Math.round(((to - from) / periodMs) * ids.length);
  // What became of those that no result is stored of, and which were never begun.
  for (const { checkId, dueAt, startedAt, outcome } of runs) {
    if (dueAt < from || dueAt >= to || seen.has(`${checkId} ${dueAt}`)) continue;
    console.log(
      `  lost: due ${new Date(dueAt).toISOString()}, ${(dueAt - from) / 1000} s after the beginning, begun ${startedAt - dueAt} ms later, outcome ${outcome ?? 'not reported'}`,
    );
  }
  const begun = new Map<string, number[]>();
  for (const { checkId, dueAt } of runs)
    begun.set(checkId, [...new Set([...(begun.get(checkId) ?? []), dueAt])]);
  for (const [checkId, moments] of begun) {
    const sorted = moments.toSorted((a, b) => a - b);
    for (const [index, at] of sorted.entries()) {
      const next = sorted[index + 1] ?? at;
      if (at >= from && next < to && next - at > periodMs)
        console.log(`  never begun: ${checkId} after ${(at - from) / 1000} s`);
    }
  }
  const doubled = [...seen.values()].filter((times) => times > 1).length;
  return {
    expected,
    lost: expected - seen.size,
    doubled,
    lags,
    p50: percentile(lags, 0.5),
    p99: percentile(lags, 0.99),
    worst: lags.reduce((most, lag) => Math.max(most, lag), 0),
  };
}
