import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { underTimeLimit, within, withTimeLimit } from '../src/time-limit.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void; // the flag adds it to new contexts

/** Of what the signal's listener is told; nothing else holds on to the signal. */
function told(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

async function collectFor(milliseconds: number): Promise<void> {
  for (const end = performance.now() + milliseconds; performance.now() < end;) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('the limit fires whatever is collected before', async () => {
  const outer = new AbortController();
  const reason = told(withTimeLimit(outer.signal, 150));
  await collectFor(100);
  expect(await reason).toMatchObject({ name: 'TimeoutError' });
});

test('the outer signal fires it at once, with its reason', async () => {
  const outer = new AbortController();
  const reason = told(withTimeLimit(outer.signal, 60_000));
  await collectFor(30);
  outer.abort('over');
  expect(await reason).toBe('over');
  expect(withTimeLimit(outer.signal, 60_000)).toMatchObject({ aborted: true, reason: 'over' });
});

test('work has its value, its error, or null if it takes too long', async () => {
  expect(await within(Promise.resolve(1), 10_000)).toBe(1);
  await expect(within(Promise.reject(new Error('broken')), 10_000)).rejects.toThrow('broken');
  expect(await within(new Promise(() => {}), 1)).toBeNull();
});

test('work under a limit sees it, and leaves nothing of it when it is done', async () => {
  const outer = new AbortController();
  let inner: AbortSignal | null = null;
  const value = await underTimeLimit(outer.signal, 20, async (signal) => {
    inner = signal;
    return 1;
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  outer.abort('over');
  expect([value, inner]).toMatchObject([1, { aborted: false }]);
  expect(await underTimeLimit(new AbortController().signal, 20, told)).toMatchObject({
    name: 'TimeoutError',
  });
});
