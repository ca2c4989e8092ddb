import { toError } from '../../errors.ts';
import type { Reason } from '../../protocol/reasons.ts';
import { createScrubber } from '../../secrets/scrubber/scrubber.ts';
import { secretsAmong } from '../analyses/secrets-of-check.ts';
import type { AgenticAction } from './statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import type { Page } from './page.ts';
import { act, type AgenticAssertion, type AgenticSuggestion } from './tools.ts';

/** The course of one run: its actions on the page and the record of its steps. */

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
  /** Masked, so it may be stored and shown. */
  details: {
    summary: string;
    prompt: string;
    assertions: AgenticAssertion[];
    suggestions: AgenticSuggestion[];
    steps: Step[];
    errors: string[];
    replayed: boolean;
  };
  /** A script to keep; null = the previous script is kept. */
  actions: AgenticAction[] | null;
};

export type Course = ReturnType<typeof createCourse>;

/** `variables`: those that the prompt may use; for duplicate names the first one counts. */
export function createCourse({
  prompt,
  variables,
  now,
}: {
  prompt: string;
  variables: readonly Variable[];
  now: () => number;
}) {
  // Only variables that the prompt names are given to the model.
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
    /** Secret values that may have been typed into the page. */
    usedSecrets: [...new Set(secrets.map(({ value }) => value))].filter(
      (value) => value !== '' && [...named.values()].includes(value),
    ),
    masked: (text: string) => scrubber.text(text),

    note: (type: Step['type'], name: string, input: unknown, output: unknown) => {
      const timestamp = new Date(now()).toISOString();
      steps.push({ type, name, input, output, timestamp, sequenceNumber: steps.length + 1 });
    },

    /** Performs an action and returns its masked output. Rejects when the page does not allow it. */
    take: async (page: Page, action: AgenticAction): Promise<string> => {
      course.note('tool_call', action.tool, action.input, null);
      const { output, assertion } = await act(page, action, fill);
      const shown = scrubber.text(output);
      // For a repeated assertion, the latest outcome counts.
      if (assertion !== null) assertions = [...withoutCondition(assertions, assertion.condition), assertion];
      course.note('tool_result', action.tool, null, shown.slice(0, 1000));
      return shown;
    },

    /** The first line of an error message, masked. */
    firstLine: (error: unknown) =>
      scrubber.text((toError(error).message.split('\n', 1)[0] ?? '').slice(0, 500)),

    brokenAssertion: () => assertions.find(({ passed }) => !passed),
    assertionCount: () => assertions.length,
    summarise: (text: string) => {
      summary = text;
    },
    beginReplay: () => {
      replayed = true;
    },
    /** Discards the outcome of the replay, because the model now decides. */
    discardReplay: () => {
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

/** Suggests the variables that the prompt names but that are not defined. This needs no model. */
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
