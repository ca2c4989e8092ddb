import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningTools } from '../../../src/agent/claiming/intake.ts';
import { createKeeping, type Keeping } from '../../../src/agent/keeping/keeping.ts';
import { createServiceClient } from '../../../src/agent/link/client.ts';
import type { Session } from '../../../src/agent/link/session.ts';
import { createTransport } from '../../../src/agent/link/transport.ts';
import { createLoading } from '../../../src/agent/claiming/loading.ts';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import { createLog } from '../../../src/log.ts';
import type { Assignment, KeepingAnswer } from '../../../src/protocol/assignments.ts';

/** An agent that holds checks, in conversation with a service whose answers a test has written. */

export const start = 1_790_000_040_000;
export const check = (fields: Partial<Assignment> = {}): Assignment => ({
  checkId: '0198c0de-0000-7000-8000-000000000001',
  holder: '0198c0de-0000-7000-8000-0000000000aa',
  locationId: '0198c0de-0000-7000-8000-000000000002',
  epoch: 1,
  // Not in this test.
  from: start + 86_400_000,
  intervalSeconds: 60,
  offsetSeconds: 0,
  pauses: [],
  job: {},
  ...fields,
});
export const answer = (fields: Partial<KeepingAnswer> = {}): KeepingAnswer => ({
  epoch: 1,
  cursor: 'c1',
  isFirst: false,
  hasMore: false,
  checks: [],
  dropped: [],
  ...fields,
});
type Asked = {
  cursor: string | null;
  reportedTo?: number;
  minor?: number;
  variables?: string | null;
  waitSeconds?: number;
  isLeaving?: boolean;
};

type Told = {
  /** Time that passes before an answer: the one with this number from 0, or the last. */
  laterMs?: number;
  laterAt?: number;
  /** What the service says in its hello. */
  hello?: object;
  /** Of the process, which takes over the checks of earlier ones below `folder`. */
  instanceId?: string;
  folder?: string;
  /** Real milliseconds that each answer takes. */
  answerMs?: number;
  /** Done after the last question, while the process runs. */
  whenAsked?: (keeping: Keeping, seen: { dueAt: unknown[] }) => Promise<unknown>;
  /** What runs need cannot be loaded. */
  isBroken?: () => boolean;
  /** The agent's clock minus the service's; null = no hello has been answered, and none will be. */
  skewMs?: number | null;
  /** The answer to the call in which the agent gives its checks back. */
  leaveStatus?: number;
};

/** Gives these answers (null = the service is not available), and resolves with what was asked for each of them and once more. */
export async function talk(
  answers: readonly (KeepingAnswer | null)[],
  {
    laterMs = 0,
    laterAt = answers.length - 1,
    hello = { keepsChecks: true, protocolMinor: 8 },
    instanceId = 'one',
    folder,
    answerMs = 0,
    whenAsked,
    isBroken = () => false,
    skewMs = 0,
    leaveStatus = 200,
  }: Told = {},
) {
  const asked: Asked[] = [];
  const ownFolder = folder ?? mkdtempSync(join(tmpdir(), 'keeping-'));
  let now = start;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { keeping: claim, waitSeconds } = JSON.parse(text) as { keeping: Asked; waitSeconds: number };
      asked.push({ ...claim, waitSeconds });
      if (claim.isLeaving === true) {
        response.writeHead(leaveStatus, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jobs: [], keeping: answer() }));
        return finish();
      }
      const next = answers[asked.length - 1];
      if (next === undefined) {
        finish();
        return;
      }
      if (asked.length === laterAt + 1) now += laterMs;
      if (next === null) {
        response.writeHead(503).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      setTimeout(() => response.end(JSON.stringify({ jobs: [], keeping: next })), answerMs);
      if (laterMs > 0 && asked.length === answers.length) setTimeout(finish, 500);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a TCP port
  const serviceUrl = new URL(`http://127.0.0.1:${port}`);
  const proxy = { httpProxy: null, httpsProxy: null, noProxy: '' };
  const transport = await createTransport({ serviceUrl, proxy, extraCaFile: null, headers: {} });
  const lines: string[] = [];
  let runs = 0;
  const dueAt: unknown[] = [];
  const reports: Record<string, unknown>[] = [];
  const loading = createLoading({
    load: async () => {
      if (isBroken()) throw new Error('nothing runs, because a module is missing');
      const tools = {
        parseJob: (job: { dueAt: unknown }) => {
          runs += 1;
          dueAt.push(job.dueAt);
          throw new Error('nothing runs in these tests');
        },
      } as unknown as RunningTools; // nothing else is used before
      return { ...tools, ...(await import('../../../src/agent/keeping/made-jobs.ts')) };
    },
    fault: () => undefined,
    fail: () => undefined,
  });
  const keeping = createKeeping({
    client: createServiceClient({ transport, serviceUrl, now: Date.now, onKeyRefused: () => undefined }),
    session: {
      get: (signal: AbortSignal) =>
        skewMs === null
          ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))))
          : Promise.resolve({ agentId: 'a', ...hello }),
      current: () => (skewMs === null ? null : { agentId: 'a' }),
      forget: () => undefined,
      clockSkewMs: () => skewMs,
    } as unknown as Session, // what it uses
    log: createLog({
      level: 'WARN',
      scrub: (line) => line,
      destination: { write: (line) => void lines.push(line) },
    }),
    version: '1.2.3',
    instanceId,
    folder: ownFolder,
    apiKey: 'pl_key',
    continueMs: 86_400_000,
    lanes: createLanes({ uptime: 4 }),
    loading,
    available: () => ({ runtimes: [], engines: [] }) as never, // nothing is due
    deliver: (json) => {
      reports.push(JSON.parse(json) as Record<string, unknown>);
      return Promise.resolve();
    },
    condition: () => ({ guards: [], outbox: { results: 0, bytes: 0, oldestSeconds: 0 } }),
    blocked: () => false,
    isFull: () => false,
    waitingSince: () => null,
    fault: (error) => {
      if (!String(error).includes('nothing runs')) throw error;
    },
    now: () => now,
    random: () => 0,
    adoptEveryMs: 20,
  });
  await keeping.restore();
  const { continues } = keeping.offer();
  keeping.start();
  if (skewMs !== null) await finished;
  await whenAsked?.(keeping, { dueAt });
  server.closeAllConnections();
  await keeping.stop();
  transport.close();
  server.close();
  if (folder === undefined) rmSync(ownFolder, { recursive: true, force: true });
  return { asked, continues, log: lines.join(''), runs, dueAt, reports };
}
