import { Compile, type Validator } from 'typebox/compile';
import { InvalidJobError } from '../../errors.ts';
import { jobTypes, type JobType } from '../../protocol/check-types.ts';
import { JobEnvelope, jobSchemas, type Job } from '../../protocol/job.ts';
import { shortened } from '../../shortened.ts';

/**
 * The result of parsing one job: the job, or why it cannot be run. The envelope is present if it is readable, so that
 * the agent can answer.
 */
export type ParsedJob =
  | { job: Job }
  | { job: null; envelope: JobEnvelope; raw: Record<string, unknown>; error: InvalidJobError }
  | { job: null; envelope: null; error: InvalidJobError };

// Compiled when the first job of a type arrives.
const validators = new Map<JobType, Validator>();
const envelopes = Compile(JobEnvelope);

/**
 * Parses a job from the service. Unknown fields are ignored, because a newer service may send them. Fields with a
 * default may be missing, because an older service may not send them.
 */
export function parseJob(raw: unknown, available: readonly string[] = jobTypes): ParsedJob {
  const type = jobTypes.find((candidate) => (raw as { checkType?: unknown } | null)?.checkType === candidate);
  if (type !== undefined && available.includes(type)) {
    const validator = validatorOf(type);
    const known = validator.Check(raw) ? raw : validator.Default(structuredClone(raw));
    if (validator.Check(known)) return { job: known as Job }; // the schema of its checkType has just been checked
    return refused(
      raw,
      new InvalidJobError('INVALID_JOB', `the job is malformed: ${firstError(validator, known)}`),
    );
  }
  const name = (raw as { checkType?: unknown } | null)?.checkType;
  const message = `this agent cannot run checks of type ${shortened(JSON.stringify(name) ?? '', 80)}; it runs ${available.join(', ')}`;
  return refused(raw, new InvalidJobError('TYPE_UNAVAILABLE', message));
}

function refused(raw: unknown, error: InvalidJobError): ParsedJob {
  if (envelopes.Check(raw)) return { job: null, envelope: raw, raw: raw as Record<string, unknown>, error }; // an object
  const text = `the job cannot be parsed: ${firstError(envelopes, raw)}`;
  return { job: null, envelope: null, error: new InvalidJobError('INVALID_JOB', text) };
}

function validatorOf(type: JobType): Validator {
  let validator = validators.get(type);
  if (validator === undefined) {
    validator = Compile(jobSchemas[type]) as Validator; // one of several schemas, chosen by `type`
    validators.set(type, validator);
  }
  return validator;
}

function firstError(validator: Pick<Validator, 'Errors'>, value: unknown): string {
  const [error] = validator.Errors(value);
  if (error === undefined) return 'unknown reason';
  const where = error.instancePath === '' ? 'it' : error.instancePath.slice(1).replaceAll('/', '.');
  return `${where} ${error.message}`;
}
