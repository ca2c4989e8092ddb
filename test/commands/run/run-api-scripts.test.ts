import { expect, test } from 'vitest';
import { parseRunBody } from '../../../src/commands/run/file.ts';
import { runtimeIds } from '../../../src/protocol/script.ts';

const body = { checkType: 'API', name: 'a check', request: { method: 'GET', url: 'http://target/' } };
const now = Date.parse('2026-01-01T00:00:00.000Z');

test('an API check in a file brings its setup and teardown, and the time for them', () => {
  const parsed = parseRunBody(
    {
      ...body,
      localSetupScript: 'one',
      localTearDownScript: 'two',
      doubleCheck: false,
      dependencies: [{ path: 'lib/a.js', content: '' }],
    },
    now,
  );
  if ('errors' in parsed) throw new Error(JSON.stringify(parsed.errors));
  expect(parsed.job).toMatchObject({
    deadline: '2026-01-01T00:01:00.000Z',
    scripts: {
      runtimeId: runtimeIds[0],
      setup: [{ origin: 'check', content: 'one' }],
      teardown: [{ origin: 'check', content: 'two' }],
      files: [{ path: 'lib/a.js', content: '' }],
    },
  });
});

test('without scripts there are none; a snippet has no meaning in a file', () => {
  const parsed = parseRunBody(body, now);
  expect('job' in parsed && 'scripts' in parsed.job).toBe(false);
  expect(parseRunBody({ ...body, tearDownSnippetId: 5 }, now)).toEqual({
    errors: {
      tearDownSnippetId: ['snippets are stored by a service; give the script itself in localTearDownScript'],
    },
  });
});
