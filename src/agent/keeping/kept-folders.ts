import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { Compile } from 'typebox/compile';
import { SharedVariables } from '../../protocol/assignments.ts';
import { fieldsOf, parsedJson } from '../../json-values.ts';
import { bootId, isOwnerGone, ownerFiles } from '../folders/owner.ts';
import { afterDeath, mergedRuns, type KeptRun } from './going-runs.ts';
import type { Adopted, KeptFacts } from './kept.ts';
import { readAssignments } from './packed.ts';
import { readSealedLines } from './sealed-lines.ts';

/** The folders of dead processes, and what they have kept. */

/** Agents of an earlier release do not read it: they would run the checks without the variables that are apart. */
export const checksName = 'held-apart';
/** Facts that are newer than those in the file of the checks. */
export const factsName = 'held-facts';
/** What agents of that release write: one line. */
const earlierFileName = 'held';
/** Begins the name of a claimed folder within the own one. The id of its process follows. */
const claimedPrefix = 'from-';
const sharedVariables = Compile(SharedVariables);

/**
 * A process that heard of the service so long before another one had lost its checks by then. The service hands them out to others
 * at the end of the lease, and what these hold is newer.
 */
export const staleMs = 60_000;

export type Claimed = { folder: string; kept: Adopted | null };

/**
 * Claims the folders of dead processes, and reads what is in them. They are moved into the own folder first, so that no two
 * processes take over the same checks; a claim that a dead process has not finished is there, too. `heardSince`: folders of
 * processes that last heard of the service earlier are left alone, and noted in `ignored`.
 */
export async function claimKept({
  root,
  instanceId,
  key,
  heardSince,
  ignored,
}: {
  root: string;
  instanceId: string;
  key: Buffer;
  heardSince: number;
  ignored: Set<string>;
}): Promise<Claimed[]> {
  const own = join(root, instanceId);
  for (const entry of await fs.readdir(root, { withFileTypes: true })) {
    const other = join(root, entry.name);
    if (!entry.isDirectory() || entry.name === instanceId || ignored.has(entry.name)) continue;
    const isDead = await isOwnerGone(other, join(own, ownerFiles.alive), (names) =>
      names.some((name) => name === checksName || name === earlierFileName || name.startsWith(claimedPrefix)),
    ).catch(() => false);
    if (!isDead) continue;
    if (heardSince > -Infinity) {
      const found = [await readFolder(other, key)];
      for await (const { folder } of claimedWithin(other)) found.push(await readFolder(folder, key));
      if (!found.some((kept) => kept !== null && kept.heardAt >= heardSince)) {
        // What cannot be read now may be readable later.
        if (!found.includes(null)) ignored.add(entry.name);
        continue;
      }
    }
    // Another process may claim it at the same moment: one rename succeeds.
    await fs.rename(other, join(own, claimedPrefix + entry.name)).catch(() => undefined);
  }
  const claimed: Claimed[] = [];
  for await (const { folder, instanceId: earlier } of claimedWithin(own)) {
    const kept = await readFolder(folder, key);
    kept?.instances.push(earlier);
    claimed.push({ folder, kept });
  }
  return claimed;
}

async function* claimedWithin(folder: string): AsyncGenerator<{ folder: string; instanceId: string }> {
  // Another process may have claimed it by now.
  for (const entry of await fs.readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isDirectory() || !entry.name.startsWith(claimedPrefix)) continue;
    const path = join(folder, entry.name);
    yield { folder: path, instanceId: entry.name.slice(claimedPrefix.length) };
    yield* claimedWithin(path);
  }
}

/** What counts of processes of which one has heard of the service at `heardAt`; the newest last. */
export function currentOf(claimed: readonly Claimed[], heardAt: number): Adopted[] {
  const kept = claimed.flatMap((each) => each.kept ?? []).sort((a, b) => a.heardAt - b.heardAt);
  const newest = Math.max(heardAt, kept.at(-1)?.heardAt ?? -Infinity);
  return kept.filter((each) => each.heardAt >= newest - staleMs);
}

/** Of two processes that shared the folder. The same check in both: what the one that heard of the service last has. */
export function merged(a: Adopted, b: Adopted): Adopted {
  const [older, newer] = a.heardAt < b.heardAt ? [a, b] : [b, a];
  const checks = new Map([...older.checks, ...newer.checks].map((check) => [check.checkId, check]));
  return {
    holders: [...new Set([...a.holders, ...b.holders])],
    instances: [...new Set([...a.instances, ...b.instances])],
    checks: [...checks.values()],
    reportedTo: a.reportedTo === null || b.reportedTo === null ? null : Math.min(a.reportedTo, b.reportedTo),
    heardAt: newer.heardAt,
    stopsInOutages: newer.stopsInOutages,
    skewMs: newer.skewMs ?? older.skewMs,
    variables: newer.variables ?? older.variables,
    runs: mergedRuns(a.runs, b.runs),
  };
}

async function readFolder(folder: string, key: Buffer): Promise<Adopted | null> {
  return (await readKept(folder, checksName, key)) ?? (await readKept(folder, earlierFileName, key));
}

async function readKept(folder: string, name: string, key: Buffer): Promise<Adopted | null> {
  const lines = await readSealedLines(join(folder, name), key);
  if (lines === null) return null;
  const first = parsedJson(lines.next().value ?? '') as
    (Partial<Adopted> & { version?: unknown; boot?: unknown }) | undefined; // checked below
  const [last] = (await readSealedLines(join(folder, factsName), key)) ?? [];
  const later = parsedJson(last ?? '') as (Partial<KeptFacts> & { version?: unknown }) | undefined; // checked below
  const isLater = typeof later?.version === 'string' && later.version === first?.version;
  const { holders, reportedTo, heardAt, stopsInOutages, skewMs, runs } = {
    ...first,
    ...(isLater ? later : {}),
  };
  if (!Array.isArray(holders) || typeof heardAt !== 'number') return null;
  // Earlier releases write no instances, and everything in one line.
  const { instances = [], variables } = first ?? {};
  const checks = Array.isArray(first?.checks) ? first.checks : parsedLines(lines);
  return {
    holders: holders.filter((id) => typeof id === 'string'),
    instances: Array.isArray(instances) ? instances.filter((id) => typeof id === 'string') : [],
    checks: readAssignments(checks).checks,
    reportedTo: typeof reportedTo === 'number' ? reportedTo : null,
    heardAt,
    stopsInOutages: stopsInOutages === true,
    // Another machine that shares the volume has another clock.
    skewMs: typeof skewMs === 'number' && first?.boot === bootId() ? skewMs : null,
    variables: sharedVariables.Check(variables) ? variables : null,
    // Earlier releases keep none.
    runs: Array.isArray(runs) ? afterDeath(runs.filter(isRun)) : [],
  };
}

function isRun(value: unknown): value is KeptRun {
  const { checkId, locationId, dueAt, deaths } = fieldsOf(value);
  return (
    typeof checkId === 'string' &&
    typeof locationId === 'string' &&
    Number.isInteger(dueAt) &&
    Number.isInteger(deaths)
  );
}

function* parsedLines(lines: Iterable<string>): Generator<unknown> {
  for (const line of lines) yield parsedJson(line);
}
