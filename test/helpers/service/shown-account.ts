import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { Everything } from './one-of-everything.ts';
import type { TestService } from './service.ts';
import { kinds, log } from './shown-runs.ts';
import { unresolved as unresolvedDetails } from './shown-ssl.ts';
import { storeRuns, type Run } from './stored-results.ts';

/** An account in which every part of every page has something to show: runs with all details, and agents. */

export type ShownAccount = {
  /** A run of each kind, by the type of its check. */
  readonly runs: { readonly [type: string]: string };
  /** The run that failed and names a reason. */
  readonly failed: string;
  /** A run of the SSL check that saw no certificate. */
  readonly unresolved: string;
};

const condition = {
  guards: [
    { name: 'disk', message: '42 MB are free for results; free some disk space', stopsJobs: false },
    {
      name: 'memory',
      message: 'the agent uses 480 of 512 MB; the agent takes no more jobs',
      stopsJobs: true,
    },
  ],
  outbox: { results: 12, bytes: 3_400_000, oldestSeconds: 300 },
};

async function showMissed(service: TestService, ids: Everything['ids']): Promise<void> {
  const { db, account } = service;
  const [location] = await db.query<{ slug: string }>(
    'select slug_name as slug from locations where id = $1',
    [ids['privateLocation']],
  );
  const missed = { status: 'missed' as const, runLocation: location?.slug ?? '', details: { count: 3 } };
  await storeRuns(db, { accountId: account.id, checkId: ids['check/tcp'] ?? '' }, [
    { at: service.now() - 3 * 3_600_000, checkType: 'TCP', ...missed },
    { at: service.now() - 9 * 3_600_000, checkType: 'TCP', ...missed },
  ]);
}

async function showPings({ db, account, now }: TestService, ids: Everything['ids']): Promise<void> {
  for (const [back, state] of [
    [1, 'RECEIVED'],
    [5, 'LATE'],
    [7, 'FAILING'],
    [12, 'RECEIVED'],
  ] as const)
    await db.query(
      `insert into heartbeat_events (id, check_id, account_id, state, happened_at, source, user_agent)
       values ($1, $2, $3, $4, $5, 'GET from 192.0.2.1', 'curl/8')`,
      [uuidv7(now()), ids['check/heartbeat'], account.id, state, new Date(now() - back * 3_600_000)],
    );
}

/** Adds the runs and the agents to an account that has one of everything. */
export async function showEverything(service: TestService, { ids }: Everything): Promise<ShownAccount> {
  const { db, account } = service;
  const now = service.now();
  const runs: { [type: string]: string } = {};
  let failed = '';
  for (const [checkType, kind] of Object.entries(kinds)) {
    const checkId = ids[`check/${checkType.toLowerCase().replace('_', '')}`] ?? '';
    const stored = await storeRuns(db, { accountId: account.id, checkId }, [
      { at: now - 30 * 60_000, checkType, responseTime: 300, status: 'failed', ...kind, log } as Run, // a type by its name
      { at: now - 20 * 60_000, checkType, responseTime: 90, resultType: 'ATTEMPT', ...kind } as Run,
      { at: now - 10 * 60_000, checkType, responseTime: 120, attempts: 1, ...kind } as Run,
    ]);
    if (checkType === 'URL') failed = stored[0] ?? '';
    runs[checkType] = stored[2] ?? '';
  }
  const host = { hostname: 'agent-1', platform: 'linux', arch: 'x64', cores: 4, memoryBytes: 8e9 };
  await db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at, last_seen_at,
       condition, condition_at)
     values ($1, $2, 'agent-1', '1.2.3', $3::jsonb, '{URL,BROWSER}', '{}', '{"uptime": 4, "browser": 1}', $4::timestamptz, $4 + interval '1 hour', $5::jsonb, $4)`,
    [uuidv7(now), ids['privateLocation'], JSON.stringify(host), new Date(now), JSON.stringify(condition)],
  );
  await db.query(
    `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at, last_seen_at)
     values ($1, $2, 'agent-2', '1.2.3', $3::jsonb, '{URL}', '{}', '{"uptime": 4}', $4, $4)`,
    [
      uuidv7(now),
      ids['privateLocation'],
      JSON.stringify({ ...host, hostname: 'agent-2' }),
      new Date(now - 3_600_000),
    ],
  );
  await showMissed(service, ids);
  await showPings(service, ids);
  const [unresolved = ''] = await storeRuns(db, { accountId: account.id, checkId: ids['check/ssl'] ?? '' }, [
    { at: now - 5 * 60_000, checkType: 'SSL', status: 'failed', responseTime: 0, details: unresolvedDetails },
  ]);
  return { runs, failed, unresolved };
}
