import type { Artifact } from '../../protocol/result.ts';
import { artifactsOf, type ArtifactRow, type AttemptKey } from '../artifacts/statements.ts';
import type { Queryable } from '../db/database.ts';
import type { ResultRow } from './statements.ts';
import { hourMs } from '../../durations.ts';

/** The artifacts of results: the agent's list, updated with the current state of each file. */

/** Agents stop retrying an upload after a day, so a file that is still missing a while later is lost. */
export const uploadWindowMs = 25 * hourMs;

/** The attempt that identifies a result's artifacts; null if no agent reported the result. */
export function attemptOf({ jobId, leaseToken, attempts }: ResultRow): AttemptKey | null {
  return jobId === null || leaseToken === null ? null : { jobId, leaseToken, attempt: attempts + 1 };
}

const nameOf = ({ jobId, leaseToken, attempt }: AttemptKey) => `${jobId} ${leaseToken} ${attempt}`;

/** URL of an artifact. */
export function artifactUrl(base: string, row: { checkId: string; id: string }, name: string): string {
  return `${base}/v1/check-results/${row.checkId}/${row.id}/assets/${encodeURIComponent(name)}`;
}

/** The rows with the current states and URLs of their artifacts. `now` is milliseconds since the epoch. */
export async function withArtifacts(
  db: Queryable,
  rows: readonly ResultRow[],
  { accountId, base, now }: { accountId: string; base: string; now: number },
): Promise<ResultRow[]> {
  const attempts = rows.flatMap((row) => {
    const attempt = listed(row).length > 0 ? attemptOf(row) : null;
    return attempt === null ? [] : [attempt];
  });
  const known = new Map<string, ArtifactRow[]>();
  for (const artifact of await artifactsOf(db, { accountId, attempts })) {
    const key = nameOf(artifact);
    known.set(key, [...(known.get(key) ?? []), artifact]);
  }
  return rows.map((row) => {
    const attempt = attemptOf(row);
    if (row.body === null || attempt === null || listed(row).length === 0) return row;
    const stored = known.get(nameOf(attempt)) ?? [];
    const isLate = now - row.storedAt.getTime() > uploadWindowMs;
    const artifacts = listed(row).map((artifact) => {
      const found = stored.find(({ name }) => name === artifact.name);
      const url = artifactUrl(base, row, artifact.name);
      return presentState(artifact, { found, url, isLate });
    });
    return { ...row, body: { ...row.body, artifacts } };
  });
}

function presentState(
  artifact: Artifact,
  { found, url, isLate }: { found: ArtifactRow | undefined; url: string; isLate: boolean },
): Artifact {
  const { name, type, size } = artifact;
  if (found?.state === 'stored') return { name, type, size: found.size, state: 'stored', url };
  const reported = found === undefined || found.state === 'pending' ? artifact.state : found.state;
  const state = reported === 'stored' || (reported === 'pending' && isLate) ? 'lost' : reported;
  return { name, type, size, state, url: null };
}

/** Artifacts of a stored result, which was validated against the schema on arrival. */
function listed({ body }: ResultRow): Artifact[] {
  const artifacts = body?.['artifacts'];
  return Array.isArray(artifacts) ? (artifacts as Artifact[]) : [];
}
