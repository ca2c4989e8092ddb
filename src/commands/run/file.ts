import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import {
  isCheckType,
  kindOf,
  laneOf,
  probeTypes,
  type CheckKind,
  type ProbeType,
} from '../../protocol/check-types.ts';
import { attemptLimitMs, type Job, type RetryStrategy } from '../../protocol/job.ts';
import { runtimeIds, type ApiScripts, type ScriptFile } from '../../protocol/script.ts';
import { settleCheck, type SettledCheck } from '../../service/checks/rules/rules.ts';
import { createProblems } from '../../service/http/problems.ts';
import { checkSchemas, type CreateBody } from '../../service/checks/fields/schema.ts';
import { apiScriptsOf } from '../../service/agents/job-scripts.ts';
import { serviceCheckTypes } from '../../service/checks/types/table.ts';
import { withDefaults } from '../../service/http/fields/defaults.ts';
import { schemaErrors, type FieldErrors } from './schema.ts';
import { hourMs } from '../../durations.ts';
import { chosenCheck } from './chosen-check.ts';
import { ofProject } from './project-file.ts';

/** The size limit of a body in the public API. */
const maxFileBytes = 4 * 1024 * 1024;

/** The location of a check that did not come from a service. */
const localName = 'local';

/**
 * Reads the check in `path` as a job; `name` chooses one of several. Throws FatalError: exit code 2 = no such file, 64 =
 * invalid content.
 */
export async function readRunFile(
  path: string,
  { now, env, name }: { now: number; env: Environment; name?: string },
): Promise<Job> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error: unknown) {
    const { code, message } = toError(error) as NodeJS.ErrnoException; // file system errors have a code
    throw new FatalError('CONFIGURATION', `cannot read ${path} (${code ?? message})`, {
      exitCode: exitCodes.couldNotRun,
    });
  }
  if (text.length > maxFileBytes) throw wrongFile(path, { file: [`is larger than ${maxFileBytes} bytes`] });
  const chosen = chosenCheck(await documentsIn(path, text), { path, name });
  const parsed = parseRunBody(await ofProject(chosen, { path, env }), now);
  if ('errors' in parsed) throw wrongFile(path, parsed.errors);
  return parsed.job;
}

/** The documents of a JSON or YAML text; a list counts as its items. */
async function documentsIn(path: string, text: string): Promise<unknown[]> {
  const isYaml = /\.ya?ml$/.test(path);
  try {
    if (isYaml) return itemsOfAll(await yamlValues(text));
    // Some editors write a byte order mark.
    return itemsOfAll([JSON.parse(text.replace(/^\ufeff/, ''))]);
  } catch (error: unknown) {
    const why = toError(error).message.replace(/\s+/g, ' ');
    throw wrongFile(path, { file: [`is not valid ${isYaml ? 'YAML' : 'JSON'}: ${why}`] });
  }
}

const itemsOfAll = (values: readonly unknown[]): unknown[] =>
  values.flatMap((value) => (Array.isArray(value) && value.length > 0 ? (value as unknown[]) : [value]));

async function yamlValues(text: string): Promise<unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(text);
  // An empty text has no documents.
  if ('empty' in documents) return [null];
  return documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as unknown;
  });
}

/**
 * What `run` takes for this check type instead of a JSON file with a create body; null = it takes such a file, or
 * nothing.
 */
const given: { readonly [K in CheckKind]: string | null } = {
  probe: null,
  script: 'the path of the script file',
  suite: 'the path of the project folder',
  service: null,
};

/** Turns a create body plus `checkType` into a job, or returns the errors by field. */
export function parseRunBody(body: unknown, now: number): { job: Job } | { errors: FieldErrors } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { errors: { file: ['must hold one object: a create body plus checkType'] } };
  }
  const { checkType, ...rest } = body as { [field: string]: unknown }; // an object, as seen above
  const type = probeTypes.find((known) => known === checkType);
  if (type === undefined) {
    const other = typeof checkType === 'string' && isCheckType(checkType) ? given[kindOf[checkType]] : null;
    if (other !== null) {
      return { errors: { checkType: [`is ${String(checkType)}: give run ${other}`] } };
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
  const check = filled as CreateBody<T>; // checked against this schema
  const problems = createProblems();
  // A create body needs a location; here it is always this machine.
  const settled = settleCheck(type, { ...check, locations: [], privateLocations: [localName] }, problems);
  const between = problems.attributes();
  if (between !== null) return { errors: between };
  // Checks of this type have these fields.
  const phases: Phases = serviceCheckTypes[type].code === 'phases' ? (settled as Phases) : {};
  const snippet = (['setupSnippetId', 'tearDownSnippetId'] as const).find(
    (field) => typeof phases[field] === 'number',
  );
  if (snippet !== undefined) {
    const text = snippet === 'setupSnippetId' ? 'localSetupScript' : 'localTearDownScript';
    return { errors: { [snippet]: [`snippets are stored by a service; give the script itself in ${text}`] } };
  }
  return { job: jobOf(type, settled, { scripts: scriptsOf(phases), now }) };
}

/** The setup and teardown fields of an API check. */
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
  // No lease limits it: it may last as long as all attempts and the waits between them.
  const maxDurationMs = (retries + 1) * attemptMs + (retryStrategy === null ? 0 : hourMs);
  const until = new Date(now + maxDurationMs).toISOString();
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
    ...(serviceCheckTypes[type].hasClientCertificates ? { clientCertificates: [] } : {}),
    ...(scripts === undefined ? {} : { scripts }),
    ...('maxPacketLossThreshold' in check && 'degradedPacketLossThreshold' in check
      ? {
          degradedPacketLossThreshold: check.degradedPacketLossThreshold,
          maxPacketLossThreshold: check.maxPacketLossThreshold,
        }
      : {}),
  };
  return job as unknown as Job; // `check` is of `type`, which the compiler cannot infer through the spread
}

/** The contract: doubleCheck without a strategy is one immediate retry; another location is not available here. */
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
  return new FatalError('CONFIGURATION', [`${path} is not a valid check:`, ...lines].join('\n'), {
    exitCode: exitCodes.usage,
  });
}
