import type { ArtifactFiles } from '../artifacts/files.ts';
import { forgetArtifacts } from '../artifacts/statements.ts';
import { type SessionRow } from './statements.ts';
import { endVanishedRuns } from '../scheduling/session-runs.ts';
import type { Db } from '../db/database.ts';
import { countListed } from '../db/count-rows.ts';
import {
  artifactsOfSession,
  deleteResultsOfSession,
  deleteSession,
  listSessionRows,
  runsOfSessions,
  type RunsAlike,
  type SessionFilter,
} from './list-statements.ts';
import { conflict } from '../http/errors.ts';
import { isOver } from './rules.ts';
import { readSession, type StartedSession } from './sessions.ts';

/** Lists sessions and deletes them. */

/** Presents a session, from its runs or from combined equal runs. */
export type SessionInShort = { session: SessionRow; runs: readonly RunsAlike[] };

type Deps = { db: Db; now: () => number };

/** Reads a page of sessions, newest first. */
export async function listSessions(
  { db, now }: Deps,
  filter: SessionFilter,
): Promise<(SessionInShort & { isPartial: boolean })[]> {
  const rows = await listSessionRows(db, filter);
  const sessionIds = rows.map(({ id }) => id);
  let runs = await runsOfSessions(db, sessionIds);
  const vanished = runs.filter(({ status, state }) => status === null && state === null);
  if (vanished.length > 0) {
    const ids = [...new Set(vanished.map(({ sessionId }) => sessionId))];
    await endVanishedRuns(db, { sessionIds: ids, now: new Date(now()) });
    runs = await runsOfSessions(db, sessionIds);
  }
  const bySession = new Map<string, RunsAlike[]>(sessionIds.map((id) => [id, []]));
  for (const { sessionId, ...alike } of runs) bySession.get(sessionId)?.push(alike);
  return rows.map(({ isPartial, ...session }) => ({
    session,
    isPartial,
    runs: bySession.get(session.id) ?? [],
  }));
}

/** Counts the sessions on all pages; null = too many to count. */
export const countSessions = (
  db: Db,
  filter: Omit<SessionFilter, 'after' | 'limit' | 'offset'>,
): Promise<number | null> =>
  countListed(db, (counting, page) => listSessionRows(counting, { ...filter, after: null, ...page }));

const filesAtOnce = 200;

/**
 * Deletes a finished session; for a test session also its results and files, which nothing else refers to.
 * May be repeated after an interruption. Throws HttpError 409 while runs are active.
 */
export async function endSession(
  { db, now, files }: Deps & { files?: ArtifactFiles },
  { started, accountId, isTest }: { started: StartedSession; accountId: string; isTest: boolean },
): Promise<void> {
  const { session } = started;
  const refuseUnlessOver = (runs: StartedSession['runs']) => {
    const going = runs.filter(({ status }) => status === null).length;
    if (!isOver(runs)) {
      throw conflict(`${going} of its runs have not finished. Wait for them, or cancel the runs of suites.`);
    }
  };
  refuseUnlessOver(started.runs);
  if (isTest && files !== undefined) {
    // The bytes are deleted first: a row without bytes does no harm, but bytes without a row would stay forever.
    for (;;) {
      const ids = await artifactsOfSession(db, { sessionId: session.id, limit: filesAtOnce });
      for (const id of ids) await files.remove(id);
      await forgetArtifacts(db, ids);
      if (ids.length < filesAtOnce) break;
    }
  }
  await db.tx(async (tx) => {
    const kind = isTest ? 'test' : 'check';
    const again = await readSession({ db: tx, now }, { accountId, id: session.id, kind });
    if (again === undefined) return;
    refuseUnlessOver(again.runs);
    if (isTest) await deleteResultsOfSession(tx, { sessionId: session.id, from: session.startedAt });
    await deleteSession(tx, session.id);
  });
}
