import type { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';

export type Method = (this: unknown, ...args: unknown[]) => unknown;
export type Methods = { [name: string]: unknown };

export type Watch<Call> = {
  /** Called before the method. Null = this call is not captured. */
  begin: (self: object, args: unknown[]) => Call | null;
  /** A promise to wait for before the call; null = nothing. */
  before?: (call: Call) => Promise<void> | null;
  end: (call: Call, result: unknown) => Promise<void> | void;
  fail: (call: Call, error: unknown) => void;
};

const wrapped = Symbol('wrapped by the capture');

// Only this text is on the stack between the caller and the method.
const source = `return { async [name](...args) {
  const call = begin(this, args);
  if (call === null) return await original.apply(this, args);
  const first = before(call);
  if (first !== null) await first;
  let result;
  try {
    result = await storage.run(call, () => original.apply(this, args));
  } catch (error) {
    fail(call, error);
    throw error;
  }
  await end(call, result);
  return result;
} }[name]`;

/**
 * Wraps an asynchronous method of one of Playwright's classes, found on `holder`. Its arguments, result and errors are
 * unchanged. Playwright names its steps, and cuts its stack traces, where the frames of its own folder end, so the
 * wrapper is compiled as a file of that folder. While the method runs, `storage` contains the value that `begin`
 * returned.
 */
export function watchMethod<Call>(
  holder: Methods | null,
  name: string,
  coreFolder: string,
  storage: AsyncLocalStorage<unknown>,
  watch: Watch<Call>,
): void {
  const original = holder?.[name];
  if (holder === null || typeof original !== 'function' || wrapped in original) return;
  const quietly =
    <Args extends unknown[], Result>(work: (...args: Args) => Result, instead: Result) =>
    (...args: Args): Result => {
      try {
        return work(...args);
      } catch {
        return instead;
      }
    };
  const make = compileFunction(source, ['name', 'original', 'storage', 'begin', 'before', 'end', 'fail'], {
    filename: join(coreFolder, 'lib', 'client', 'capture.js'),
  });
  const replacement = make(
    name,
    original,
    storage,
    quietly(watch.begin, null),
    quietly((call: Call) => settled(watch.before?.(call) ?? null), null),
    quietly((call: Call, result: unknown) => settled(watch.end(call, result) ?? null), null),
    quietly(watch.fail, undefined),
  ) as Method; // `source` returns it
  Object.defineProperty(replacement, wrapped, { value: true });
  // Not enumerable, like class methods.
  Object.defineProperty(holder, name, { value: replacement, writable: true, configurable: true });
}

function settled(promise: Promise<void> | null): Promise<void> | null {
  return promise === null ? null : promise.catch(() => undefined);
}

/** The object that defines `name`: `object` itself or the nearest of its prototypes. */
export function holderOf(object: unknown, name: string): Methods | null {
  let each: unknown = object;
  while (typeof each === 'object' && each !== null) {
    if (Object.hasOwn(each, name)) return each as Methods; // looked up by name
    each = Object.getPrototypeOf(each);
  }
  return null;
}
