import { serviceCheckType } from '../checks/types/table.ts';
import { allClientCertificates } from '../accounts/client-certificates/statements.ts';
import { allSnippets } from '../accounts/snippets/statements.ts';
import { allVariables } from '../accounts/variables/statements.ts';
import type { Db } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import { findProxyUrl, type AgentLocation } from '../locations/agent-statements.ts';
import type { ClaimedJob } from '../scheduling/jobs-claim.ts';
import type { AccountScope } from './job.ts';
import { needsCode } from './job-scripts.ts';

/** What all jobs of one answer share. Each is read once per answer, and only if a job needs it. */

type Deps = { db: Db; encryption: Encryption };

/** Reads the location's proxy. */
export function createProxyReader(
  { db, encryption }: Deps,
  { locationId }: AgentLocation,
): () => Promise<string | null> {
  let proxy: Promise<string | null> | undefined;
  const read = async () => {
    const sealed = await findProxyUrl(db, locationId);
    return sealed === null ? null : encryption.open(sealed.toString('latin1'));
  };
  return () => (proxy ??= read());
}

/** Reads the settings that an account's jobs share; snippets only if a job may need them. */
export function createScopeReader(
  { db }: Pick<Deps, 'db'>,
  { accountId }: AgentLocation,
): (claimed: readonly Pick<ClaimedJob, 'checkType' | 'definition' | 'group'>[]) => Promise<AccountScope> {
  let variables: ReturnType<typeof allVariables> | undefined;
  let snippets: ReturnType<typeof allSnippets> | undefined;
  let certificates: ReturnType<typeof allClientCertificates> | undefined;
  return async (claimed) => {
    variables ??= allVariables(db, accountId);
    const isNeeded = claimed.some(
      ({ checkType, definition, group }) =>
        definition === null ||
        group?.definition === null ||
        needsCode(checkType, definition, group?.definition ?? null),
    );
    if (isNeeded) snippets ??= allSnippets(db, accountId);
    if (claimed.some(({ checkType }) => serviceCheckType(checkType)?.hasClientCertificates === true)) {
      certificates ??= allClientCertificates(db, accountId);
    }
    return {
      variables: await variables,
      snippets: (await snippets) ?? [],
      clientCertificates: (await certificates) ?? [],
    };
  };
}
