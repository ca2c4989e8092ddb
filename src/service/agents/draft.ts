import { fieldsOf, parsedJson } from '../../json-values.ts';
import { jobTypes, laneOf } from '../../protocol/check-types.ts';
import { allClientCertificates } from '../accounts/client-certificates/statements.ts';
import { allSnippets } from '../accounts/snippets/statements.ts';
import { allVariables } from '../accounts/variables/statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import type { Queryable } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import { draftOfCheck, type ClaimedJob } from '../scheduling/jobs-claim.ts';
import type { SessionRetries } from '../scheduling/session-runs.ts';
import { createPartsReader, type CompleteJob } from './claimed-parts.ts';
import { buildJob, leaseFields, type AccountScope } from './job.ts';
import { draftPartsOf } from './draft-statements.ts';

/**
 * Drafts: checks that files describe and no one has applied. Their jobs are built where their definitions are, in a
 * transaction that is rolled back, and wait encrypted for an agent.
 */

/** Settings of the test session. Variables are as stored: secret values are encrypted. */
export type DraftSettings = {
  variables: readonly Variable[];
  retries: SessionRetries | null;
  refreshCache: boolean;
};

type Options = { accountId: string; encryption: Encryption; settings: DraftSettings; now: number };

/**
 * Returns a function that builds the sealed job of a check as `tx` sees it; null = agents do not run its type. It
 * throws UnbuildableJobError.
 */
export function createDraftBuilder(
  tx: Queryable,
  { accountId, encryption, settings, now }: Options,
): (checkId: string) => Promise<string | null> {
  const complete = createPartsReader(tx);
  let account: Promise<AccountScope> | undefined;
  const readAccount = async (): Promise<AccountScope> => ({
    variables: await allVariables(tx, accountId),
    snippets: await allSnippets(tx, accountId),
    clientCertificates: await allClientCertificates(tx, accountId),
  });
  return async (checkId) => {
    const parts = await draftPartsOf(tx, checkId);
    const type = jobTypes.find((candidate) => candidate === parts?.checkType);
    if (parts === undefined || type === undefined) return null;
    const whole = await complete({
      ...parts,
      ...unclaimed(now),
      accountId,
      checkId,
      lane: laneOf[type],
      definition: null,
      testSession: true,
      refreshCache: settings.refreshCache,
    });
    if (whole === null) return null;
    account ??= readAccount();
    const { variables, retries } = settings;
    const job = buildJob(
      { ...whole, sessionVariables: variables, sessionRetries: retries },
      { encryption, proxyUrl: null, now, account: await account },
    );
    return encryption.seal(JSON.stringify(job));
  };
}

/** What only a run has. The claim writes these fields into the job. */
const unclaimed = (now: number) => ({
  jobId: '',
  runId: '',
  sequenceId: '',
  locationId: '',
  runLocation: '',
  runSource: '',
  runParallel: false,
  dueAt: new Date(now),
  notBefore: new Date(now),
  attempt: 1,
  firstAttemptAt: null,
  leaseToken: '',
  leaseExpiresAt: new Date(now),
  isDraft: false,
  sessionId: null,
});

/** What the jobs of one claim share. */
export type JobSources = {
  proxyUrl: string | null;
  account: AccountScope;
  completeJob: (job: ClaimedJob) => Promise<CompleteJob | null>;
};

/**
 * The job for the agent, of a check or of a draft. Null = it was deleted, and the run with it. Throws EncryptionError and
 * UnbuildableJobError.
 */
export async function fieldsOfJob(
  { db, encryption, now }: { db: Queryable; encryption: Encryption; now: () => number },
  job: ClaimedJob,
  sources: JobSources,
): Promise<Record<string, unknown> | null> {
  if (!job.isDraft) {
    const complete = await sources.completeJob(job);
    return complete === null ? null : buildJob(complete, { encryption, ...sources, now: now() });
  }
  const sealed = await draftOfCheck(db, job.checkId);
  if (sealed === null) return null;
  const fields = fieldsOf(parsedJson(encryption.open(sealed)));
  const { proxyUrl } = sources;
  return { ...fields, ...leaseFields(job, now() + Number(fields['remainingMs'])), proxyUrl };
}
