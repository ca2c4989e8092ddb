import { celFailure, type CelRules } from './judge.ts';
import { celThreadLoads, createCelThread, type CelThread } from './thread.ts';

/** Steps on the main thread; these take a few milliseconds. */
const inlineSteps = 1_000_000;

let thread: CelThread | null = null;

/**
 * Why the probe fails; null = it does not. Work that may be long is done by another thread. Rejects with the signal's
 * reason.
 */
export async function bodyFailure(
  body: Buffer,
  rules: CelRules,
  signal: AbortSignal,
): Promise<string | null> {
  const { matches, notMatches } = rules;
  const steps = (matches?.steps(body.length) ?? 0) + (notMatches?.steps(body.length) ?? 0);
  if (!celThreadLoads || steps <= inlineSteps) return celFailure(body, rules);
  thread ??= createCelThread();
  const texts = { matches: matches?.text ?? null, notMatches: notMatches?.text ?? null };
  return thread.failure({ ...texts, body }, signal);
}
