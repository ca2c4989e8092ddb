import { Compile } from 'typebox/compile';
import { Clean } from 'typebox/value';
import { AgentCondition } from '../../protocol/routes.ts';

const validator = Compile(AgentCondition);

/** The condition in a claim or a renewal; null = none that this service understands. */
export function conditionOf({ condition }: { condition?: unknown }): AgentCondition | null {
  if (condition === undefined || !validator.Check(condition)) return null;
  return Clean(AgentCondition, condition) as AgentCondition; // checked against its schema
}
