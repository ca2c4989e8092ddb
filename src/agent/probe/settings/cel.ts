import { celExpression, type CelExpression } from '../cel/expression.ts';
import type { CelRules } from '../cel/judge.ts';
import type { ProbeFields } from './fields.ts';

/** The expressions of an HTTP module; null = it has none. */
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
