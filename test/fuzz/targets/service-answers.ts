import { answerValidators } from '../../../src/agent/link/answer-validators.ts';
import { parseJob } from '../../../src/agent/claiming/parse-job.ts';
import { secretsOfApi } from '../../../src/agent/job-types/secrets.ts';
import { parsedJson } from '../../../src/json-values.ts';
import { apiJob } from '../../helpers/network/http.ts';

/** Answers of the service: claims with their jobs, renewals and the answers to results. */

export const name = 'service-answers';

/** Throws if an answer is neither valid nor refused. */
export function run(data: Buffer): void {
  const value = parsedJson(data.toString());
  for (const validator of Object.values(answerValidators)) {
    if (!validator.Check(value)) [...validator.Errors(value)].slice(0, 1);
  }
  const jobs = answerValidators.claim.Check(value) ? (value as { jobs: unknown[] }).jobs : [value]; // just checked
  for (const raw of jobs) {
    const parsed = parseJob(raw);
    if (parsed.job === null) {
      if (parsed.error.message.length > 2000) throw new Error('the refusal is too long');
    } else if (parsed.job.checkType === 'API') {
      secretsOfApi(parsed.job);
    }
  }
}

export const seeds = (): string[] => {
  const job = apiJob({ url: 'https://shop.test/{{A}}' });
  return [
    JSON.stringify({ jobs: [job] }),
    JSON.stringify(job),
    JSON.stringify({
      jobs: [{ ...job, checkType: 'DNS', request: { recordType: 'A', query: 'shop.test' } }, null, 1],
    }),
    '{"renewed":["a"],"lost":[],"cancel":[]}',
    '{"items":[{"jobId":"a","attempt":0,"outcome":"stored"}]}',
    '{"outcome":"released"}',
    '{"accepted":1}',
  ];
};

export const dictionary = [
  '{"',
  '":',
  '[',
  ']',
  '{',
  '}',
  ',',
  'null',
  'true',
  '1e400',
  '-1',
  '"__proto__":',
  '"checkType":"',
  'TCP',
  'PLAYWRIGHT',
  'BROWSER',
  'MULTI_STEP',
  '"request":',
  '"assertions":',
  '\\ud800',
  '\\u0000',
];
