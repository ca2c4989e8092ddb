import { jobTypes, type JobType } from '../../protocol/check-types.ts';
import { attemptLimitMs, type RetryStrategy } from '../../protocol/job.ts';
import type { ApiRequest, GrpcRequest, SslRequest } from '../../protocol/requests.ts';
import type { ApiScripts, PlaywrightConfig } from '../../protocol/script.ts';
import type { Suite } from '../../protocol/suite.ts';
import { openGroupDefinition } from '../checks/storage/group.ts';
import { openRequest } from '../checks/storage/check.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import { certificatesFor } from '../accounts/client-certificates/rules.ts';
import type { ClientCertificateRow } from '../accounts/client-certificates/statements.ts';
import type { ClaimedJob } from '../scheduling/jobs-claim.ts';
import type { CompleteJob } from './claimed-parts.ts';
import { openVariables, type Encryption } from '../engine/encryption.ts';
import {
  mergedRequest,
  mergedRetries,
  mergedVariables,
  type PhaseSources,
  type Variable,
} from '../checks/storage/settings.ts';
import { apiScriptsOf, checkScriptOf, type Snippet } from './job-scripts.ts';
import { suiteOf, type SuiteDefinition } from './job-suite.ts';

/** Builds the job for an agent from the stored check, group and account. */

type Definition = Partial<PhaseSources> &
  Partial<SuiteDefinition> & {
    /** Fields of types that make a request. */
    request?: object;
    shouldFail?: boolean;
    doubleCheck?: boolean;
    degradedResponseTime?: number | null;
    maxResponseTime?: number | null;
    retryStrategy?: Partial<RetryStrategy> | null;
    environmentVariables?: Variable[] | null;
    degradedPacketLossThreshold?: number;
    maxPacketLossThreshold?: number;
    runtimeId?: string | null;
    scriptPath?: string | null;
    playwrightConfig?: PlaywrightConfig | null;
    sslCheckDomain?: string | null;
  };

/** Settings that all jobs of an account share. `variables` are as stored: secret values are encrypted. */
export type AccountScope = {
  variables: readonly Variable[];
  snippets: readonly Snippet[];
  /** Snippets, oldest first. */
  clientCertificates: readonly ClientCertificateRow[];
};

/** Extra time beyond attempts and waits, for the network, the agent's queue and clock differences. */
const deadlineSlackMs = 60_000;

type Context = { encryption: Encryption; proxyUrl: string | null; now: number; account: AccountScope };

/**
 * Throws EncryptionError when a secret was encrypted with another key, UnbuildableJobError when something is missing.
 */
export function buildJob(claimed: CompleteJob, context: Context): Record<string, unknown> {
  const { encryption, proxyUrl, now, account } = context;
  const definition = claimed.definition as Definition; // written by check-storage.ts
  const group = claimed.group === null ? null : openGroupDefinition(claimed.group.definition, encryption);
  const retryStrategy = retriesOf(claimed, { definition, group });
  const fields = typeFields(claimed, context, { definition, group });
  const remainingMs = longestRunMs(attemptMsOf(claimed, fields), retryStrategy);
  return {
    ...leaseFields(claimed, now + remainingMs),
    checkName: claimed.checkName,
    checkType: claimed.checkType,
    lane: claimed.lane,
    remainingMs,
    shouldFail: definition.shouldFail ?? false,
    degradedResponseTime: definition.degradedResponseTime ?? null,
    maxResponseTime: definition.maxResponseTime ?? null,
    retryStrategy,
    environmentVariables: mergedVariables(
      openVariables(claimed.sessionVariables, encryption),
      openVariables(definition.environmentVariables ?? [], encryption),
      group?.environmentVariables ?? [],
      openVariables(account.variables, encryption),
    ),
    proxyUrl,
    ...(claimed.testSession ? { testSession: true } : {}),
    ...fields,
  };
}

/** Fields of a job that belong to its run and its lease. `deadline`: milliseconds since the epoch. */
export const leaseFields = (claimed: Omit<ClaimedJob, 'definition' | 'group'>, deadline: number) => ({
  jobId: claimed.jobId,
  runId: claimed.runId,
  sequenceId: claimed.sequenceId,
  checkId: claimed.checkId,
  runLocation: claimed.runLocation,
  runSource: claimed.runSource,
  dueAt: claimed.dueAt.toISOString(),
  attempt: claimed.attempt,
  firstAttemptAt: claimed.firstAttemptAt?.toISOString() ?? null,
  leaseToken: claimed.leaseToken,
  leaseExpiresAt: claimed.leaseExpiresAt.toISOString(),
  deadline: new Date(deadline).toISOString(),
});

type Group = ReturnType<typeof openGroupDefinition> | null;

type Parts = {
  claimed: CompleteJob;
  encryption: Encryption;
  account: AccountScope;
  definition: Definition;
  group: Group;
  runtimeId: string;
};
type FieldsOf = (parts: Parts) => Record<string, unknown>;

const requestFields: FieldsOf = ({ definition, encryption }) => ({
  request: openRequest(definition.request ?? {}, encryption),
});

const scriptFields: FieldsOf = ({ claimed: { code }, account: { snippets }, definition, runtimeId }) => ({
  script: checkScriptOf({ runtimeId, definition, code, snippets }),
  sslCheckDomain: definition.sslCheckDomain || null,
});

/** Fields that only jobs of a type have. */
const fieldsOf: { readonly [T in JobType]: FieldsOf } = {
  URL: requestFields,
  API: apiFields,
  TCP: requestFields,
  TRACEROUTE: requestFields,
  DNS: requestFields,
  ICMP: (parts) => ({
    ...requestFields(parts),
    degradedPacketLossThreshold: parts.definition.degradedPacketLossThreshold ?? 10,
    maxPacketLossThreshold: parts.definition.maxPacketLossThreshold ?? 20,
  }),
  SSL: sslFields,
  GRPC: grpcFields,
  BROWSER: scriptFields,
  MULTI_STEP: scriptFields,
  PLAYWRIGHT: ({ claimed, definition }) => ({ suite: suiteOf(definition, claimed) }),
};

function grpcFields({ encryption, account, definition }: Parts) {
  const request = openRequest(definition.request ?? {}, encryption) as GrpcRequest; // of a GRPC check
  const { clientCertificateMode: mode } = request.grpcConfig;
  const rows =
    mode === null
      ? []
      : account.clientCertificates.filter(
          ({ id }) => mode === 'auto' || id === request.grpcClientCertificateId,
        );
  const url = mode === 'auto' ? `https://${request.url}:${request.port}/` : null;
  return { request, clientCertificates: certificatesFor(rows, { url, encryption }) };
}

function sslFields({ encryption, account, definition }: Parts) {
  const request = openRequest(definition.request ?? {}, encryption) as SslRequest; // of an SSL check
  const { clientCertificateMode: mode, hostname, port } = request.sslConfig;
  const rows =
    mode === null
      ? []
      : account.clientCertificates.filter(
          ({ id }) => mode === 'auto' || id === request.sslClientCertificateId,
        );
  // An explicit certificate is used whatever host it was stored for.
  const url = mode === 'auto' ? `https://${hostname}:${port}/` : null;
  return { request, clientCertificates: certificatesFor(rows, { url, encryption }) };
}

function apiFields({ claimed, encryption, account, definition, group, runtimeId }: Parts) {
  const request = openRequest(definition.request ?? {}, encryption) as ApiRequest; // of an API check
  const defaults = group?.apiCheckDefaults ?? null;
  const { snippets } = account;
  const scripts = apiScriptsOf({ runtimeId, check: definition, group, code: claimed.code, snippets });
  const merged = defaults === null ? request : mergedRequest(request, defaults);
  return {
    request: merged,
    clientCertificates: certificatesFor(account.clientCertificates, { url: merged.url, encryption }),
    ...(scripts === undefined ? {} : { scripts }),
    ...(defaults === null || defaults.url === '' ? {} : { groupBaseUrl: defaults.url }),
  };
}

function typeFields(
  claimed: CompleteJob,
  { encryption, account }: Context,
  { definition, group }: { definition: Definition; group: Group },
): Record<string, unknown> {
  // The runtime by which the agent was chosen, unless the check got its scripts later.
  const runtimeId =
    claimed.runtimeId ?? definition.runtimeId ?? claimed.group?.runtimeId ?? claimed.accountRuntimeId;
  const type = jobTypeOf(claimed);
  const fields = type === undefined ? requestFields : fieldsOf[type];
  return fields({ claimed, encryption, account, definition, group, runtimeId });
}

/** Undefined for a type of a newer version. */
const jobTypeOf = ({ checkType }: Pick<CompleteJob, 'checkType'>): JobType | undefined =>
  jobTypes.find((candidate) => candidate === checkType);

/** The retry strategy: from the session, the group or the check itself. */
function retriesOf(
  claimed: CompleteJob,
  { definition, group }: { definition: Definition; group: Group },
): RetryStrategy | null {
  if (serviceCheckType(claimed.checkType)?.isRetried === false) return null;
  const staysHere = claimed.runParallel || claimed.locationCount < 2;
  if (claimed.sessionRetries !== null) {
    const strategy = claimed.sessionRetries.strategy as Partial<RetryStrategy> | null; // written by the trigger's route
    return retryStrategyOf({ retryStrategy: strategy }, staysHere);
  }
  // A test session reports the first outcome, without retries.
  if (claimed.testSession) return null;
  const own = { retryStrategy: null, doubleCheck: false, ...definition } as Parameters<
    typeof mergedRetries
  >[0]; // stored settled
  return retryStrategyOf(group === null ? definition : mergedRetries(own, group), staysHere);
}

/**
 * The check's own strategy with its defaults (facts, section 3); otherwise one immediate retry for doubleCheck;
 * otherwise none.
 * `staysHere`: with runParallel or a single location, retries stay in the same location.
 */
export function retryStrategyOf(
  definition: Pick<Definition, 'retryStrategy' | 'doubleCheck'>,
  staysHere: boolean,
): RetryStrategy | null {
  const { retryStrategy, doubleCheck } = definition;
  if (retryStrategy === undefined || retryStrategy === null) {
    if (doubleCheck !== true) return null;
    return {
      type: 'FIXED',
      baseBackoffSeconds: 0,
      maxRetries: 1,
      maxDurationSeconds: 600,
      sameRegion: staysHere,
      onlyOn: [],
    };
  }
  const type = retryStrategy.type ?? 'FIXED';
  return {
    type,
    baseBackoffSeconds: retryStrategy.baseBackoffSeconds ?? 60,
    maxRetries: type === 'SINGLE_RETRY' ? 1 : (retryStrategy.maxRetries ?? 2),
    maxDurationSeconds: retryStrategy.maxDurationSeconds ?? 600,
    sameRegion: staysHere || (retryStrategy.sameRegion ?? true),
    onlyOn: retryStrategy.onlyOn ?? [],
  };
}

function attemptMsOf(
  claimed: CompleteJob,
  { scripts, suite }: { scripts?: ApiScripts; suite?: Suite },
): number {
  const checkType = jobTypeOf(claimed);
  if (checkType === undefined) return 60_000;
  return attemptLimitMs({
    checkType,
    ...(scripts === undefined ? {} : { scripts }),
    ...(suite === undefined ? {} : { suite }),
  });
}

/** The longest time that a run may take after its claim: its attempts and the waits between them. */
function longestRunMs(attemptMs: number, retryStrategy: RetryStrategy | null): number {
  if (retryStrategy === null) return attemptMs + deadlineSlackMs;
  const { baseBackoffSeconds: base, maxRetries } = retryStrategy;
  let waitSeconds = 0;
  for (let retry = 1; retry <= maxRetries; retry++) {
    const delays = { FIXED: base, SINGLE_RETRY: base, LINEAR: base * retry, EXPONENTIAL: base ** retry };
    waitSeconds += delays[retryStrategy.type];
  }
  // No retry starts after maxDurationSeconds, but one that started before may use its full time.
  const retryingMs = Math.min(
    waitSeconds * 1000 + maxRetries * attemptMs,
    retryStrategy.maxDurationSeconds * 1000,
  );
  return retryingMs + attemptMs + deadlineSlackMs;
}
