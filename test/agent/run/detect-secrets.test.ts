import { expect, test } from 'vitest';
import { maskCredentials } from '../../../src/agent/run/detect-secrets.ts';
import { jobScrubbers } from '../../../src/agent/scrubbing/own-secrets.ts';
import type { Job } from '../../../src/protocol/job.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { scriptJob } from '../../helpers/scripts/script-jobs.ts';

const token = 'ghp_16CharsAndSomeMore1234';

function scrubberAfter(job: Job, details: Record<string, unknown>, msg = 'nothing') {
  const scrubber = jobScrubbers([], createScrubber([]))(job);
  const outcome = { base: { ok: true as const }, responseTime: 1, timings: null, assertions: [], details };
  maskCredentials(job, { outcome, log: [{ time: 0, level: 'info', msg }] }, scrubber);
  return scrubber;
}

test.each([
  ['the script', `const key = '${token}';`, {}, ''],
  ['the log', '', {}, `token=${token}`],
  ['what was seen', '', { apiCalls: [{ response: { body: `{"access_token":"${token}"}` } }] }, ''],
  ['a field by its name', '', { request: { password: token } }, ''],
])('a credential in %s is masked everywhere', (_where, content, details, msg) => {
  const scrubber = scrubberAfter(scriptJob('BROWSER', content), details, msg);
  expect(scrubber.text(`seen: ${token}`)).toBe('seen: *********');
  expect(scrubber.secrets().map(({ value }) => value)).toContain(token);
});

test('texts without one stay as they are', () => {
  const scrubber = scrubberAfter(scriptJob('MULTI_STEP', "const password = process.env['PASSWORD'];"), {
    tests: [{ title: 'the token page', errors: ['expected 1 to be 2'] }],
  });
  expect(scrubber.secrets()).toEqual([]);
});
