import { expect, test } from 'vitest';
import { jobScrubbers } from '../../src/agent/own-secrets.ts';
import { createScrubber } from '../../src/secrets/scrubber.ts';
import { apiJob } from '../helpers/http.ts';

test('passwords and locked values that stand in a check are secrets of its job', () => {
  const own = [{ name: 'API_KEY', value: 'pl_0123456789abcdef' }];
  const base = createScrubber(own);
  const scrubberOf = jobScrubbers(own, base);
  const job = apiJob({
    url: 'http://someone:url-password@target.test/',
    basicAuth: { username: 'someone', password: 'basic-password' },
    headers: [
      { key: 'x-tenant', value: 'locked-header', locked: true },
      { key: 'x-open', value: 'open-header', locked: false },
      { key: 'x-made', value: '{{TOKEN}}', locked: true },
    ],
    queryParameters: [{ key: 'code', value: 'locked-query', locked: true }],
  });
  const text = 'url-password basic-password locked-header open-header {{TOKEN}} locked-query';
  expect(scrubberOf(job).text(text)).toBe('********* ********* ********* open-header {{TOKEN}} *********');
  expect(scrubberOf(apiJob({ url: 'http://target.test/' }))).toBe(base);
});
