import { jobTypes, laneOf } from '../../protocol/check-types.ts';
import { locationsOfRun } from '../../protocol/schedule.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import {
  countSessionJobs,
  findSession,
  insertSessionRuns,
  insertSessions,
  runsOfSession,
  type NewSession,
  type NewSessionRun,
  type SessionKind,
  type SessionRow,
  type SessionRunRow,
} from './statements.ts';
import { endVanishedRuns } from '../scheduling/session-runs.ts';
import type { Db } from '../db/database.ts';
import { insertJobs, jobsChannel, type NewJob } from '../scheduling/jobs.ts';
import { findLocationIds } from '../scheduling/schedule.ts';
import { findTargetChecks, shareLock, type TargetCheck } from './target-statements.ts';
import { HttpError } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import { sessionExpiry } from '../agentic/schedule.ts';
import { insertAgenticRuns, type NewAgenticRun } from '../agentic/run-statements.ts';
import { serviceLocation } from '../heartbeats/outcomes.ts';
import { idsOfTarget, matchesTags, type Target } from './rules.ts';

/** Creates on-demand runs, which run independently of the schedule and are grouped in one session. */

type Deps = { db: Db; now: () => number };

/** How long such a run may wait to be claimed; scheduled runs wait no longer. */
const claimWindowSeconds = 360;
/** Waiting and active session runs that an account may have. */
const maxRuns = 20_000;
/** Sessions created in one transaction, few enough not to block the embedded database. */
const sessionsAtOnce = 100;

/** Where a run takes place; null = in the service itself. */
type Place = { id: string | null; slug: string };
export type Planned = { check: TargetCheck; places: Place[] };

/**
 * Selects the checks of a target and the locations of their runs: those of the next scheduled run, which stays
 * unchanged, or `runLocation` for all. Omits checks without a location.
 */
export async function planSessionRuns(
  { db }: Deps,
  options: {
    accountId: string;
    target: Target;
    alsoDeactivated: boolean;
    /** Slug; null = the check's own locations. */
    runLocation: string | null;
    /** Only checks of this group, in its order. */
    groupId?: number;
  },
): Promise<Planned[]> {
  const { accountId, target, alsoDeactivated, runLocation } = options;
  const { groupId = target.groupId ?? null } = options;
  const ids = idsOfTarget(target);
  const found = await findTargetChecks(db, { accountId, ids, alsoDeactivated, groupId });
  const checks = found.filter(({ tags }) => matchesTags(tags, target.matchTags));
  const slugs = runLocation === null ? checks.flatMap((check) => check.slugs) : [runLocation];
  const requested = [...new Set(slugs)].map((slug) => ({ accountId, slug }));
  const places = new Map((await findLocationIds(db, requested)).map(({ slug, id }) => [slug, id]));
  if (runLocation !== null && places.size === 0) {
    throw new HttpError(400, `The location ${runLocation} does not exist.`, {
      runLocation: ['is not a location of this account'],
    });
  }
  return checks.flatMap((check): Planned[] => {
    if (runsInService(check)) return [{ check, places: [{ id: null, slug: serviceLocation }] }];
    const all = (runLocation === null ? check.slugs : [runLocation]).flatMap((slug) => {
      const id = places.get(slug);
      return id === undefined ? [] : [{ id, slug }];
    });
    const chosen = locationsOfRun({ ...check, locationCount: all.length });
    const chosenPlaces = chosen.flatMap((index) => all[index] ?? []);
    return chosenPlaces.length === 0 ? [] : [{ check, places: chosenPlaces }];
  });
}

/** Throws 429 when too many runs would wait. */
export async function checkRoom(
  { db }: Deps,
  { accountId, planned }: { accountId: string; planned: readonly Planned[] },
): Promise<void> {
  const waiting = await countSessionJobs(db, accountId);
  const more = planned.reduce((sum, { places }) => sum + places.length, 0);
  if (waiting + more <= maxRuns) return;
  throw new HttpError(
    429,
    'Too many session runs are waiting or active. Try again when some have finished.',
    {
      target: [`selects ${more} runs; ${waiting} of at most ${maxRuns} have not finished`],
    },
  );
}

/** A session to create, with its runs; as part of a group run it waits for its turn. */
export type SessionPlan = {
  session: NewSession;
  planned: readonly Planned[];
  groupRun?: NewJob['groupRun'];
};

export type StartedSession = { session: SessionRow; runs: SessionRunRow[] };

/** Creates sessions and queues their runs. Omits those whose checks or locations have been deleted in the meantime. */
export async function startSessions(deps: Deps, plans: readonly SessionPlan[]): Promise<StartedSession[]> {
  const started: StartedSession[] = [];
  for (let from = 0; from < plans.length; from += sessionsAtOnce) {
    const some = plans.slice(from, from + sessionsAtOnce);
    started.push(...(await deps.db.tx((tx) => startSome(tx, some, deps.now()))));
  }
  return started;
}

async function startSome(tx: Db, plans: readonly SessionPlan[], now: number): Promise<StartedSession[]> {
  const startedAt = new Date(now);
  const all = plans.flatMap(({ planned }) => planned);
  const checkIds = new Set(all.map(({ check }) => check.id));
  const locationIds = new Set(all.flatMap(({ places }) => places.flatMap(({ id }) => id ?? [])));
  const checks = await shareLock(tx, 'checks', [...checkIds]);
  const locations = await shareLock(tx, 'locations', [...locationIds]);
  const begun = plans
    .map(({ session, planned, groupRun }) => ({
      session,
      groupRun,
      jobs: planned
        .filter(({ check }) => checks.has(check.id))
        .map(({ check, places }) => ({
          check,
          places: places.filter(({ id }) => id === null || locations.has(id)),
        }))
        .flatMap((item) => jobsOf(item, session, { now, groupRun })),
    }))
    .filter(({ jobs }) => jobs.length > 0);
  await insertSessions(
    tx,
    begun.map(({ session }) => session),
    startedAt,
  );
  await insertSessionRuns(
    tx,
    begun.flatMap(({ jobs }) => jobs.map(({ run }) => run)),
  );
  const woken = await insertJobs(
    tx,
    begun.flatMap(({ jobs }) => jobs.flatMap(({ job }) => job ?? [])),
  );
  await insertAgenticRuns(
    tx,
    begun.flatMap(({ jobs }) => jobs.flatMap(({ agentic }) => agentic ?? [])),
  );
  for (const locationId of woken) await tx.notify(jobsChannel, locationId);
  return begun.map(({ session, jobs, groupRun }) => ({
    session: { ...session, startedAt },
    runs: jobs.map(({ run }) => ({
      ...run,
      status: null,
      endedAt: null,
      state: groupRun === undefined ? 'queued' : 'blocked',
      stage: null,
      leasedAt: null,
      cancelRequested: false,
    })),
  }));
}

function jobsOf(
  { check, places }: Planned,
  session: NewSession,
  { now, groupRun }: { now: number; groupRun: NewJob['groupRun'] | undefined },
): NewRun[] {
  const runId = uuidv7(now);
  if (runsInService(check)) return [agenticRunOf(check, session, { runId, now, groupRun })];
  const type = jobTypes.find((candidate) => candidate === check.checkType);
  if (type === undefined) return [];
  return places.flatMap((place): NewRun[] => {
    if (place.id === null) return [];
    const ids = { jobId: uuidv7(now), sequenceId: uuidv7(now) };
    return [
      {
        agentic: null,
        job: {
          id: ids.jobId,
          accountId: session.accountId,
          checkId: check.id,
          runId,
          sequenceId: ids.sequenceId,
          locationId: place.id,
          runLocation: place.slug,
          runSource: session.runSource,
          runParallel: check.runParallel,
          checkType: type,
          runtimeId: check.runtimeId,
          lane: laneOf[type],
          dueAt: new Date(now),
          expiresAt: new Date(now + claimWindowSeconds * 1000),
          claimWindowSeconds,
          session: {
            id: session.id,
            isTest: session.kind === 'test',
            refreshCache: session.refreshCache,
          },
          ...(groupRun === undefined ? {} : { groupRun }),
        },
        run: {
          ...ids,
          sessionId: session.id,
          checkId: check.id,
          checkType: type,
          checkName: check.name,
          runLocation: place.slug,
        },
      },
    ];
  });
}

/** A run as queued for an agent or for the service itself, with its row in the session. */
type NewRun = { job: NewJob | null; agentic: NewAgenticRun | null; run: NewSessionRun };

/** AGENTIC checks run in the service, whatever location is requested. */
const runsInService = ({ checkType }: Pick<TargetCheck, 'checkType'>) =>
  serviceCheckType(checkType)?.runBy === 'service';

function agenticRunOf(
  check: TargetCheck,
  session: NewSession,
  { runId, now, groupRun }: { runId: string; now: number; groupRun: NewJob['groupRun'] | undefined },
): NewRun {
  const ids = { sessionId: session.id, sequenceId: uuidv7(now), checkId: check.id };
  const jobId = uuidv7(now);
  return {
    job: null,
    agentic: {
      ...ids,
      id: jobId,
      runId,
      accountId: session.accountId,
      testSession: session.kind === 'test',
      dueAt: new Date(now),
      expiresAt: sessionExpiry(now),
      ...(groupRun === undefined ? {} : { groupRun }),
    },
    run: { ...ids, jobId, checkType: check.checkType, checkName: check.name, runLocation: serviceLocation },
  };
}

/** Reads a session with the current state of its runs; undefined = the account has none with that id and kind. */
export async function readSession(
  { db, now }: Deps,
  named: { accountId: string; id: string; kind: SessionKind },
): Promise<StartedSession | undefined> {
  const session = await findSession(db, named);
  if (session === undefined) return undefined;
  const runs = await runsOfSession(db, session.id);
  if (runs.every(({ status, state }) => status !== null || state !== null)) return { session, runs };
  await endVanishedRuns(db, { sessionIds: [session.id], now: new Date(now()) });
  return { session, runs: await runsOfSession(db, session.id) };
}
