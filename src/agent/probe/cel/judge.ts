import { toError } from '../../../errors.ts';
import { isFields } from '../../../json-values.ts';
import type { CelExpression } from './expression.ts';

/** What `fail_if_body_json_matches_cel` and `fail_if_body_json_not_matches_cel` say about a body. */

export type CelRules = {
  /** The probe fails if it is true. Null = there is none, as below. */
  readonly matches: CelExpression | null;
  /** The probe fails if it is false. */
  readonly notMatches: CelExpression | null;
};

/** Why the probe fails; null = it does not. */
export function celFailure(body: Buffer, { matches, notMatches }: CelRules): string | null {
  let json: unknown;
  try {
    json = withMaps(JSON.parse(body.toString('utf8')));
  } catch (error: unknown) {
    return `the body is not JSON: ${toError(error).message}`;
  }
  for (const [expression, wrong] of [
    [matches, true],
    [notMatches, false],
  ] as const) {
    if (expression === null) continue;
    let result: unknown;
    try {
      result = expression.evaluate(json);
    } catch (error: unknown) {
      return `${expression.text} cannot be evaluated: ${toError(error).message.split('\n')[0]}`;
    }
    if (typeof result !== 'boolean') return `${expression.text} is neither true nor false`;
    if (result === wrong) return `${expression.text} is ${wrong}`;
  }
  return null;
}

/** Objects as maps, so that a key such as `constructor` is a key. */
function withMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMaps);
  if (!isFields(value)) return value;
  return new Map(Object.entries(value).map(([key, one]) => [key, withMaps(one)]));
}
