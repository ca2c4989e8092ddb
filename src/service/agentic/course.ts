import { toError } from '../../errors.ts';
import type { Reason } from '../../protocol/reasons.ts';
import { createScrubber } from '../../secrets/scrubber/scrubber.ts';
import { secretsAmong } from '../analyses/secrets-of-check.ts';
import type { AgenticAction } from './statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import type { Page } from './page.ts';
import { act, type AgenticAssertion, type AgenticSuggestion } from './tools.ts';

/** What one run does with its page, and what is noted of it on the way. */

type Step = {
  type: 'tool_call' | 'tool_result' | 'message';
  name: string;
  input: unknown;
  output: unknown;
  timestamp: string;
  sequenceNumber: number;
};

export type Ended = {
  status: 'passed' | 'failed' | 'errored' | 'cancelled';
  reason: Reason | null;
  /** Masked: what may be stored and shown. */
  details: {
    summary: string;
    prompt: string;
    assertions: AgenticAssertion[];
    suggestions: AgenticSuggestion[];
    steps: Step[];
    errors: string[];
    replayed: boolean;
  };
  /** A script to keep; null = the one before stays. */
  actions: AgenticAction[] | null;
};

export type Course = ReturnType<typeof createCourse>;

/** Variables: those that the prompt may name; of two with one name the first counts. */
export function createCourse({
  prompt,
  variables,
  now,
}: {
  prompt: string;
  variables: readonly Variable[];
  now: () => number;
}) {
  // Only what the prompt names reaches the agent.
  const named = new Map(
    [...variables]
      .reverse()
      .flatMap((one) => (prompt.includes(`{{${one.key}}}`) ? [[one.key, one.value] as const] : [])),
  );
  const secrets = secretsAmong(variables);
  const scrubber = createScrubber(secrets);
  const fill = (text: string) =>
    text.replace(/\{\{([\w-]+)\}\}/g, (all, key: string) => named.get(key) ?? all);
  const steps: Step[] = [];
  const errors: string[] = [];
  const suggestions = missingVariables(prompt, named);
  let assertions: AgenticAssertion[] = [];
  let summary = '';
  let replayed = false;

  const course = {
    prompt,
    suggestions,
    /** Secret values that can have come to the page. */
    usedSecrets: [...new Set(secrets.map(({ value }) => value))].filter(
      (value) => value !== '' && [...named.values()].includes(value),
    ),
    masked: (text: string) => scrubber.text(text),

    note: (type: Step['type'], name: string, input: unknown, output: unknown) => {
      const timestamp = new Date(now()).toISOString();
      steps.push({ type, name, input, output, timestamp, sequenceNumber: steps.length + 1 });
    },

    /** Does an action; what it gives, masked. Rejects when the page does not allow it. */
    take: async (page: Page, action: AgenticAction): Promise<string> => {
      course.note('tool_call', action.tool, action.input, null);
      const { output, assertion } = await act(page, action, fill);
      const shown = scrubber.text(output);
      // Made again, it counts as it was found last.
      if (assertion !== null) assertions = [...withoutCondition(assertions, assertion.condition), assertion];
      course.note('tool_result', action.tool, null, shown.slice(0, 1000));
      return shown;
    },

    /** The first line of what went wrong, masked. */
    told: (error: unknown) => scrubber.text((toError(error).message.split('\n', 1)[0] ?? '').slice(0, 500)),

    brokenAssertion: () => assertions.find(({ passed }) => !passed),
    assertionCount: () => assertions.length,
    summarise: (text: string) => {
      summary = text;
    },
    beginReplay: () => {
      replayed = true;
    },
    /** The model looks anew, and has the last word. */
    beginAnew: () => {
      replayed = false;
      assertions = [];
      summary = '';
    },

    ended: (
      status: Ended['status'],
      reason: Reason | null,
      actions: AgenticAction[] | null = null,
    ): Ended => {
      if (reason !== null && errors.length === 0) errors.push(reason.message);
      const details = { summary, prompt, assertions, suggestions, steps, errors, replayed };
      return scrubber.json({ status, reason, details, actions });
    },
  };
  return course;
}

/** What the prompt names and nobody has set: no model is needed to see that. */
function missingVariables(prompt: string, named: ReadonlyMap<string, string>): AgenticSuggestion[] {
  const names = [...prompt.matchAll(/\{\{([\w-]{1,256})\}\}/g)].map(([, name = '']) => name);
  return [...new Set(names)]
    .filter((name) => !named.has(name))
    .slice(0, 5)
    .map((name) => ({
      summary: `The prompt names {{${name}}}, but neither the check, its group nor the account has a variable of that name: create it.`,
      prompt: `{{${name}}}`,
      promptReplacement: null,
      secrets: [name],
      category: 'credentials',
    }));
}

const withoutCondition = (assertions: readonly AgenticAssertion[], condition: string) =>
  assertions.filter((one) => one.condition !== condition);
