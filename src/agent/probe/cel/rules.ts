import type { ProbeFields } from '../settings/fields.ts';
import { celExpression, type CelExpression } from './expression.ts';
import { celFailure, type CelRules } from './judge.ts';
import { celThreadLoads, createCelThread, type CelThread } from './thread.ts';

/** The fields of an HTTP module; null = it has no expression. */
export async function celRules(fields: ProbeFields): Promise<CelRules | null> {
  const rule = async (field: string): Promise<CelExpression | null> => {
    const text = fields.text(field);
    if (!fields.has(field)) return null;
    return celExpression(text).catch((error: unknown) =>
      fields.fail(field, error instanceof Error ? error.message : 'is not an expression of CEL'),
    );
  };
  const matches = await rule('fail_if_body_json_matches_cel');
  const notMatches = await rule('fail_if_body_json_not_matches_cel');
  return matches === null && notMatches === null ? null : { matches, notMatches };
}

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
