import { Compile, type Validator } from 'typebox/compile';
import { InvalidJobError } from '../../errors.ts';
import { jobTypes, type JobType } from '../../protocol/check-types.ts';
import { JobEnvelope, jobSchemas, type Job } from '../../protocol/job.ts';

/** What came of reading one job: the job, or why it can't be run and, if at all readable, whom to answer. */
export type ParsedJob =
  | { job: Job }
  | { job: null; envelope: JobEnvelope; raw: Record<string, unknown>; error: InvalidJobError }
  | { job: null; envelope: null; error: InvalidJobError };

// Compiled when the first job of a type comes.
const validators = new Map<JobType, Validator>();
const envelopes = Compile(JobEnvelope);

/**
 * Reads a job as it came from the service. Unknown fields are left alone: a newer service may send them. Fields that
 * have a default may be missing: an older service may not know them.
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
  const message = `this agent cannot run checks of type ${JSON.stringify(name)?.slice(0, 80)}; it runs ${available.join(', ')}`;
  return refused(raw, new InvalidJobError('TYPE_UNAVAILABLE', message));
}

function refused(raw: unknown, error: InvalidJobError): ParsedJob {
  if (envelopes.Check(raw)) return { job: null, envelope: raw, raw: raw as Record<string, unknown>, error }; // an object
  const text = `the job is not readable: ${firstError(envelopes, raw)}`;
  return { job: null, envelope: null, error: new InvalidJobError('INVALID_JOB', text) };
}

function validatorOf(type: JobType): Validator {
  let validator = validators.get(type);
  if (validator === undefined) {
    validator = Compile(jobSchemas[type]) as Validator; // one of several schemas; what it checks is said by `type`
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
