import { expect, test } from 'vitest';
import { jobScrubbers, ownSecrets } from '../../../src/agent/scrubbing/own-secrets.ts';
import { readAgentSettings } from '../../../src/config.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { apiJob } from '../../helpers/network/http.ts';

test('passwords and locked values of a check are secrets of its job', () => {
  const own = [{ name: 'API_KEY', value: 'pl_0123456789abcdef' }];
  const scrubberOf = jobScrubbers(own, createScrubber(own));
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
  expect(scrubberOf(apiJob({ url: 'http://target.test/' })).secrets()).toEqual(own);
});

test('a secret that appears during a run is masked from then on, only in that job', () => {
  const own = [{ name: 'API_KEY', value: 'pl_0123456789abcdef' }];
  const scrubberOf = jobScrubbers(own, createScrubber(own));
  const one = scrubberOf(apiJob({ url: 'http://target.test/' }));
  const other = scrubberOf(apiJob({ url: 'http://target.test/' }));
  expect(one.text('session-token-77')).toBe('session-token-77');
  one.add('session', 'session-token-77');
  one.add('session', 'session-token-77');
  one.add('empty', '');
  expect(one.json({ a: 'session-token-77 pl_0123456789abcdef' })).toEqual({ a: '********* *********' });
  expect(one.secrets()).toHaveLength(2);
  expect(other.text('session-token-77')).toBe('session-token-77');
});

test('passwords in the environment of suite installers are secrets of the agent', () => {
  const settings = readAgentSettings({
    https_proxy: 'http://agent:proxy%2Fpassword@proxy.test:3128',
    npm_config_registry: 'https://robot:registry-password@registry.test/',
    PLAYWRIGHT_DOWNLOAD_HOST: 'https://robot:download-password@browsers.test/',
  });
  expect(ownSecrets(settings).map(({ value }) => value)).toEqual([
    'proxy/password',
    'registry-password',
    'download-password',
  ]);
  const { text } = createScrubber(ownSecrets(settings));
  expect(
    text(
      Object.values(settings.installEnvironment)
        .map((secret) => secret.reveal())
        .join(' '),
    ),
  ).not.toMatch(/password@/);
});

test('many secrets of a script: nothing passes until their tables are ready, and then everything is masked', async () => {
  const own = [{ name: 'API_KEY', value: 'pl_0123456789abcdef' }];
  const scrubber = jobScrubbers(own, createScrubber(own))(apiJob({ url: 'http://target.test/' }));
  const value = (n: number): string => `${n}-walnut-"tree"-${'x'.repeat(200)}`;
  for (let n = 0; n < 60; n++) scrubber.add(`S${n}`, value(n));
  expect(scrubber.text('a line without a secret')).toBe('*********');
  expect(scrubber.json({ a: ['b', 1] })).toEqual({ '*********': ['*********', 1] });
  await scrubber.ready();
  expect(scrubber.text(`a line with ${value(59)} and ${JSON.stringify(value(0))}`)).toBe(
    'a line with ********* and "*********"',
  );
  expect(scrubber.withheld).toBeNull();
});

test('many configured secrets: jobs wait for one other thread, and nothing passes until it is done', async () => {
  const value = (n: number): string => `${n}-walnut-${'x'.repeat(200)}`;
  const own = Array.from({ length: 200 }, (_, n) => ({ name: `S${n}`, value: value(n) }));
  const scrubberOf = jobScrubbers(own, createScrubber(own));
  const job = apiJob({ url: 'http://someone:url-password@target.test/' });
  const [one, other] = [scrubberOf(job), scrubberOf(job)];
  expect([one.text('a line'), other.text('a line')]).toEqual(['*********', '*********']);
  await Promise.all([one.ready(), other.ready()]);
  for (const scrubber of [one, other, scrubberOf(job)]) {
    expect(scrubber.withheld).toBeNull();
    expect(scrubber.text(`a line with ${value(199)} and url-password`)).toBe(
      'a line with ********* and *********',
    );
  }
  // One more secret of a script needs all of these tables again.
  one.add('session', 'session-token-77');
  expect(one.text('a line')).toBe('*********');
  await one.ready();
  expect(one.text('a line with session-token-77')).toBe('a line with *********');
  expect(scrubberOf(apiJob({ url: 'http://target.test/' })).text('a line')).toBe('a line');
});

test('a run with a secret that the agent does not know sends nothing, whatever is added afterwards', async () => {
  const scrubber = jobScrubbers([], createScrubber([]))(apiJob({ url: 'http://target.test/' }));
  expect(scrubber.text('a line')).toBe('a line');
  scrubber.withhold('a script registered more than 100 secrets');
  scrubber.withhold('another reason');
  scrubber.add('S', 'walnut-tree');
  await scrubber.ready();
  expect(scrubber.withheld).toBe('a script registered more than 100 secrets');
  expect(scrubber.text('a line')).toBe('*********');
  expect(scrubber.json({ a: ['line'] })).toEqual({ '*********': ['*********'] });
});

test('a script with too many secrets sends nothing', async () => {
  const own = [{ name: 'API_KEY', value: 'pl_0123456789abcdef' }];
  for (const [count, length] of [
    [5001, 20],
    [20, 60_000],
  ] as const) {
    const scrubber = jobScrubbers(own, createScrubber(own))(apiJob({ url: 'http://target.test/' }));
    for (let n = 0; n < count; n++) scrubber.add(`S${n}`, `${n}-`.padEnd(length, 'y'));
    await scrubber.ready();
    expect(scrubber.withheld).toMatch(/more than 5000 secrets, or more than 1048576 bytes/);
    expect(scrubber.text('0-yyyyyyyyyy and more')).toBe('*********');
  }
});
