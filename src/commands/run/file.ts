import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { laneOf, probeTypes, scriptTypes, type ProbeType } from '../../protocol/check-types.ts';
import { attemptLimitMs, type Job, type RetryStrategy } from '../../protocol/job.ts';
import { runtimeIds, type ApiScripts, type ScriptFile } from '../../protocol/script.ts';
import { settleCheck, type SettledCheck } from '../../service/checks/rules/rules.ts';
import { createProblems } from '../../service/api/problems.ts';
import { checkSchemas, type CreateBody } from '../../service/checks/fields/schema.ts';
import { apiScriptsOf } from '../../service/agents/job-scripts.ts';
import { schemaErrors, withDefaults, type FieldErrors } from './schema.ts';

/** As much as the public API takes in one body. */
const maxFileBytes = 4 * 1024 * 1024;

/** Where a check runs that no service has sent. */
const localName = 'local';

/** Reads the check in `path` as a job. Throws FatalError: 2 = no such file, 64 = what stands in it is wrong. */
export async function readRunFile(path: string, now: number): Promise<Job> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error: unknown) {
    const { code, message } = toError(error) as NodeJS.ErrnoException; // the file system's errors have a code
    throw new FatalError('CONFIGURATION', `cannot read ${path} (${code ?? message})`, {
      exitCode: exitCodes.couldNotRun,
    });
  }
  if (text.length > maxFileBytes) throw wrongFile(path, { file: [`is larger than ${maxFileBytes} bytes`] });
  let body: unknown;
  try {
    // Some editors begin a file with a byte order mark.
    body = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error: unknown) {
    const why = toError(error).message.replace(/\s+/g, ' ');
    throw wrongFile(path, { file: [`is not valid JSON: ${why}`] });
  }
  const parsed = parseRunBody(body, now);
  if ('errors' in parsed) throw wrongFile(path, parsed.errors);
  return parsed.job;
}

/** A create body plus `checkType` as a job, or what is wrong with it by field. */
export function parseRunBody(body: unknown, now: number): { job: Job } | { errors: FieldErrors } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { errors: { file: ['must hold one object: a create body plus checkType'] } };
  }
  const { checkType, ...rest } = body as { [field: string]: unknown }; // an object, as seen above
  const type = probeTypes.find((known) => known === checkType);
  if (type === undefined) {
    if (scriptTypes.some((known) => known === checkType)) {
      return {
        errors: { checkType: [`is ${String(checkType)}: give run the script itself, a file of its own`] },
      };
    }
    if (checkType === 'PLAYWRIGHT') {
      return { errors: { checkType: ['is PLAYWRIGHT: give run the folder of the project'] } };
    }
    const known = `must be one of ${probeTypes.join(', ')}`;
    return { errors: { checkType: [checkType === undefined ? `is required: it ${known}` : known] } };
  }
  return parseCheck(type, rest, now);
}

function parseCheck<T extends ProbeType>(
  type: T,
  body: { [field: string]: unknown },
  now: number,
): { job: Job } | { errors: FieldErrors } {
  const schema = checkSchemas[type].create;
  const named = { name: `${type} check`, ...body };
  const filled = withDefaults(schema, named);
  const errors = schemaErrors(schema, filled);
  if (errors !== null) return { errors };
  const check = filled as CreateBody<T>; // checked against that very schema
  const problems = createProblems();
  // A create body needs a location; here the only one is this machine.
  const settled = settleCheck(type, { ...check, locations: [], privateLocations: [localName] }, problems);
  const between = problems.attributes();
  if (between !== null) return { errors: between };
  const phases: Phases = type === 'API' ? (settled as Phases) : {}; // an API check has these fields
  const snippet = (['setupSnippetId', 'tearDownSnippetId'] as const).find(
    (field) => typeof phases[field] === 'number',
  );
  if (snippet !== undefined) {
    const text = snippet === 'setupSnippetId' ? 'localSetupScript' : 'localTearDownScript';
    return { errors: { [snippet]: [`snippets are kept by a service; give the script itself as ${text}`] } };
  }
  return { job: jobOf(type, settled, { scripts: scriptsOf(phases), now }) };
}

/** What an API check says of its setup and teardown. */
type Phases = {
  localSetupScript?: string | null;
  localTearDownScript?: string | null;
  setupSnippetId?: number | null;
  tearDownSnippetId?: number | null;
  dependencies?: ScriptFile[] | null;
  runtimeId?: string | null;
};

function scriptsOf(phases: Phases): ApiScripts | undefined {
  const runtimeId = phases.runtimeId ?? runtimeIds[0];
  const { dependencies = null } = phases;
  return apiScriptsOf({ runtimeId, check: phases, group: null, code: { dependencies }, snippets: [] });
}

function jobOf<T extends ProbeType>(
  type: T,
  check: SettledCheck<T>,
  { scripts, now }: { scripts: ApiScripts | undefined; now: number },
): Job {
  const retryStrategy = retriesOf(check);
  const time = new Date(now).toISOString();
  const retries = retryStrategy?.maxRetries ?? 0;
  const attemptMs = attemptLimitMs(
    scripts === undefined ? { checkType: type } : { checkType: type, scripts },
  );
  // No lease ends it: as long as all attempts and the waits between them may take.
  const longest = (retries + 1) * attemptMs + (retryStrategy === null ? 0 : 3_600_000);
  const until = new Date(now + longest).toISOString();
  const job = {
    jobId: randomUUID(),
    runId: randomUUID(),
    sequenceId: randomUUID(),
    checkId: randomUUID(),
    checkName: check.name,
    checkType: type,
    lane: laneOf[type],
    runLocation: localName,
    runSource: 'CLI',
    dueAt: time,
    attempt: 1,
    firstAttemptAt: null,
    leaseToken: randomUUID(),
    leaseExpiresAt: until,
    deadline: until,
    shouldFail: check.shouldFail,
    degradedResponseTime: check.degradedResponseTime,
    maxResponseTime: check.maxResponseTime,
    retryStrategy,
    environmentVariables: check.environmentVariables,
    proxyUrl: null,
    request: check.request,
    ...(type === 'API' ? { clientCertificates: [] } : {}),
    ...(scripts === undefined ? {} : { scripts }),
    ...('maxPacketLossThreshold' in check && 'degradedPacketLossThreshold' in check
      ? {
          degradedPacketLossThreshold: check.degradedPacketLossThreshold,
          maxPacketLossThreshold: check.maxPacketLossThreshold,
        }
      : {}),
  };
  return job as unknown as Job; // `check` is of `type`, which the compiler can't follow through the spread
}

/** The contract: doubleCheck without a strategy is one retry at once; "elsewhere" can only be here. */
function retriesOf(check: Pick<SettledCheck, 'retryStrategy' | 'doubleCheck'>): RetryStrategy | null {
  const { retryStrategy } = check;
  if (retryStrategy !== null) {
    return { maxRetries: 1, maxDurationSeconds: 600, ...retryStrategy, sameRegion: true };
  }
  if (!check.doubleCheck) return null;
  return {
    type: 'FIXED',
    baseBackoffSeconds: 0,
    maxRetries: 1,
    maxDurationSeconds: 600,
    sameRegion: true,
    onlyOn: [],
  };
}

function wrongFile(path: string, errors: FieldErrors): FatalError {
  const lines = Object.entries(errors).map(([field, reasons]) => `  ${field}: ${reasons.join('; ')}`);
  return new FatalError('CONFIGURATION', [`${path} can not be run:`, ...lines].join('\n'), {
    exitCode: exitCodes.usage,
  });
}
