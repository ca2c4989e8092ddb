import type { Assertion, AssertionResult, AssertionSource } from '../../protocol/assertions.ts';
import { evaluateAssertions, type AssertionSources } from '../assertions/evaluate.ts';
import { bodySources, type AssertedBody } from './body-sources.ts';
import { bodyThreadLoads, createBodyThreads, type BodyThreads } from './body-thread.ts';

/** Sources that read the whole body. */
const ofBody: ReadonlySet<string> = new Set<AssertionSource>(['TEXT_BODY', 'JSON_BODY']);

/**
 * Most bytes that the assertions of one attempt read on the main thread, each of them the complete body. 256 kB take a
 * few milliseconds.
 */
export const inlineBytes = 256 * 1024;

let threads: BodyThreads | null = null;

/**
 * Evaluates all assertions of an HTTP response, in order. Those on a large body run on a thread of their own; rejects
 * as BodyThreads does.
 */
export async function responseAssertions(
  assertions: readonly Assertion[],
  { body, others, signal }: { body: AssertedBody; others: AssertionSources; signal: AbortSignal },
  canUseThreads: boolean = bodyThreadLoads,
): Promise<AssertionResult[]> {
  const sources = { ...others, ...bodySources(body) };
  const onBody = assertions.filter(({ source }) => ofBody.has(source));
  if (!canUseThreads || body.bytes.byteLength * (onBody.length + 1) <= inlineBytes || onBody.length === 0) {
    return evaluateAssertions(assertions, sources);
  }
  threads ??= createBodyThreads();
  const evaluated = await threads.evaluate({ assertions: onBody, body }, signal);
  let next = 0;
  return assertions.map((assertion) => {
    const result = ofBody.has(assertion.source) ? evaluated[next++] : undefined;
    return result ?? evaluateOne(assertion, sources);
  });
}

function evaluateOne(assertion: Assertion, sources: AssertionSources): AssertionResult {
  const [result] = evaluateAssertions([assertion], sources);
  if (result === undefined) throw new TypeError('one assertion has one result');
  return result;
}
