import { expect, test } from 'vitest';
import { artifactNames } from '../../../src/agent/artifacts/names.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';

const secrets = [{ name: 'TOKEN', value: 'p@ss w0rd/77' }];
const names = () => artifactNames(secrets, (text) => createScrubber(secrets).text(text));

test.each([
  ['trace.zip', 'trace', 'trace.zip'],
  ['../../etc/passwd', 'file', 'passwd'],
  ['..', 'file', 'file'],
  ['', 'log', 'log'],
  ['a b ü.png', 'screenshot', 'a_b__.png'],
  ['.hidden', 'file', '_hidden'],
  ['p@ss w0rd/77.png', 'screenshot', '77.png'],
  ['shot-p-ss-w0rd-77-end.png', 'screenshot', 'screenshot.png'],
  ['shot-pss-w0rd-77-end.png', 'screenshot', 'screenshot.png'],
] as const)('%s becomes a name that the service takes', (name, type, expected) => {
  expect(names()({ name, type })).toBe(expected);
});

test('each name is there once, however long and in whatever case', () => {
  const nameOf = names();
  const all = ['a.png', 'a.png', 'A.png', `${'x'.repeat(300)}.zip`, `${'x'.repeat(300)}.zip`].map((name) =>
    nameOf({ name, type: 'file' }),
  );
  expect(all.slice(0, 3)).toEqual(['a.png', 'a-2.png', 'A-3.png']);
  expect(new Set(all).size).toBe(5);
  for (const name of all) expect(name).toMatch(/^[A-Za-z0-9._-]{1,200}$/);
  expect(all[4]).toMatch(/-2\.zip$/);
});
