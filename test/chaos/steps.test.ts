import { runInThisContext } from 'node:vm';
import { expect, test } from 'vitest';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomFrom } from './random.ts';
import { chosenSteps, instrumented, tooFewOf } from './steps.ts';

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

test('steps are chosen with a pass that was seen, and with the time that it took', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'chaos-steps-')), 'list');
  const lines = Array.from({ length: 40 }, (_, at) => `agent/x.js:${at} 1 ${at * 100}`);
  writeFileSync(file, [...lines, 'agent/x.js:3 2 9000', ''].join('\n'));
  const random = randomFrom(1);
  expect(chosenSteps(file, { count: 10, random })).toHaveLength(10);
  const all = chosenSteps(file, { count: 100, random });
  expect(all).toHaveLength(40);
  expect(all.every(({ step, pass }) => pass === 1 || (step === 'agent/x.js:3' && pass === 2))).toBe(true);
  expect(all.find(({ step }) => step === 'agent/x.js:12')).toEqual({
    step: 'agent/x.js:12',
    pass: 1,
    afterMs: 1200,
  });
});

test('a run that reached too few of its steps has not tried what it says', () => {
  expect(tooFewOf({ reached: 48, tried: 60 })).toEqual([]);
  expect(tooFewOf({ reached: 47, tried: 60 })).toEqual(['killed at 47 of 60 steps, and 80 % is the least']);
  expect(tooFewOf({ reached: 0, tried: 0 })).toHaveLength(1);
});
