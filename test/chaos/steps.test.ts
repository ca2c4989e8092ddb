import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { instrumented } from './steps.ts';

test('a step is reported before each await and each call of the file system, and nothing else changes', async () => {
  const code = [
    'const seen = [];',
    'const f = async (x) => x + 1;',
    'const writeSync = (x) => x * 2;',
    'const total = (await f(await f(1))) + writeSync(3) + (!(await f(-1)) ? 100 : 0);',
    'return { total, text: `${await f(1)}` };',
  ].join('\n');
  const body = `async function run() {\n${code}\n}`;
  const text = instrumented(body, 'agent/x.js');
  const steps: string[] = [];
  Object.assign(globalThis, { chaosStep: (name: string) => void steps.push(name) });
  const run = runInThisContext(`${text}\nrun`) as () => Promise<unknown>; // the code above
  expect(await run()).toEqual({ total: 3 + 6 + 100, text: '2' });
  expect(steps).toEqual(['agent/x.js:5', 'agent/x.js:5', 'agent/x.js:5', 'agent/x.js:5', 'agent/x.js:6']);
});
