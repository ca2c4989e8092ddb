import type { Tool } from '../analyses/chat.ts';
import type { AgenticAction } from './statements.ts';
import { hostOf, type Page } from './page.ts';

/** The tools with which a model acts on a page. */

export type AgenticAssertion = { condition: string; passed: boolean; actual: string; expected: string };

export const suggestionCategories = ['credentials', 'endpoint', 'configuration'] as const;

/** A suggestion that would improve the check or make it possible. */
export type AgenticSuggestion = {
  summary: string;
  /** The part of the prompt that it refers to; empty = the whole prompt. */
  prompt: string;
  /** Text to replace that part; null = the prompt stays as it is. */
  promptReplacement: string | null;
  /** Names of variables that the check needs but does not have. */
  secrets: string[];
  category: (typeof suggestionCategories)[number];
};

const text = (description: string) => ({ type: 'string', description });
const tool = (name: string, description: string, properties: { [name: string]: object }): Tool => ({
  name,
  description,
  parameters: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
});
const selector = text('A Playwright selector, like text="Sign in", #id or role=button[name="Buy"]');

export const tools: readonly Tool[] = [
  tool('navigate', 'Open a URL', { url: text('http:// or https://') }),
  tool('click', 'Click the first element that matches', { selector }),
  tool('type', 'Fill the first field that matches', {
    selector,
    text: text('{{NAME}} stands for a variable'),
  }),
  tool('read', 'The title, URL and visible text of the page', {}),
  tool('assert', 'Note whether the visible text of the page contains a text', {
    condition: text('What must hold, as a sentence'),
    expected: text('The text that the page must contain'),
  }),
  tool('suggest', 'Note what the check lacks: credentials, the right endpoint, or another configuration', {
    category: { type: 'string', enum: suggestionCategories },
    summary: text('What is missing or wrong, as a sentence'),
    prompt: text('The words of the task that it is about, as they stand there; empty = all of it'),
    promptReplacement: text('What should stand there instead; empty = they can stay'),
    secrets: text('Names of variables that are needed, in capitals, with commas between; empty = none'),
  }),
  tool('finish', 'End: everything is done and asserted, or can not be done', {
    summary: text('What was found'),
    done: { type: 'string', enum: ['yes', 'no'], description: 'Whether the task could be done' },
  }),
];

/** Limits in characters; `text` applies to the page text that assertions search. */
const max = { input: 2_000, title: 300, page: 8_000, text: 1_000_000, actual: 300 };

const assertMs = 3_000;
const assertEveryMs = 200;

/** Parses the arguments of a call as limited strings; null when they are not valid. */
export function inputOf(name: string, json: string): AgenticAction['input'] | null {
  const properties = tools.find((known) => known.name === name)?.parameters as
    { required: string[] } | undefined; // made by tool() above
  if (properties === undefined) return null;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const given = value as { [name: string]: unknown }; // any object has these properties
  const entries = properties.required.map((key) => [key, given[key]] as const);
  if (!entries.every(([, item]) => typeof item === 'string' && item.length <= max.input)) return null;
  return Object.fromEntries(entries) as AgenticAction['input']; // strings, as checked above
}

/** Builds the suggestion from a call of `suggest`; null when it is empty. */
export function suggestionOf(input: AgenticAction['input'], taskPrompt: string): AgenticSuggestion | null {
  const of = (key: string) => (input[key] ?? '').trim();
  const category = suggestionCategories.find((known) => known === of('category'));
  if (category === undefined || of('summary') === '') return null;
  const replacement = of('promptReplacement');
  return {
    summary: of('summary'),
    prompt: taskPrompt.includes(of('prompt')) ? of('prompt') : '',
    promptReplacement: replacement === '' ? null : replacement,
    secrets: [...new Set(of('secrets').split(/[\s,]+/))]
      .filter((name) => /^\w{1,256}$/.test(name))
      .slice(0, 20),
    category,
  };
}

const textOf = async (page: Page) => (await page.visibleText(max.text)).replace(/\s+/g, ' ').trim();
/**
 * Returns the visible text as soon as it contains `expected`, or after a timeout, because the page may still be
 * loading.
 */
async function shownWith(page: Page, expected: string): Promise<string> {
  const until = performance.now() + assertMs;
  for (;;) {
    const shown = await textOf(page);
    if (expected === '' || shown.includes(expected) || performance.now() >= until) return shown;
    await new Promise((resolve) => setTimeout(resolve, assertEveryMs));
  }
}

const titleOf = async (page: Page) => (await page.title()).slice(0, max.title);

/** Performs an action; rejects when the page does not allow it. `fill` replaces variables by their values. */
export async function act(
  page: Page,
  { tool: name, input }: AgenticAction,
  fill: (text: string) => string,
): Promise<{ output: string; assertion: AgenticAssertion | null }> {
  const of = (key: string) => fill(input[key] ?? '');
  const done = { output: 'done', assertion: null };
  switch (name) {
    case 'navigate':
      if ((hostOf(of('url')) ?? '') === '') throw new Error('the URL must begin with http:// or https://');
      await page.goto(of('url'));
      return { ...done, output: `opened: ${await titleOf(page)}` };
    case 'click':
      await page.click(of('selector'));
      return done;
    case 'type':
      await page.fill(of('selector'), of('text'));
      return done;
    case 'read': {
      const shown = `${(await page.url()).slice(0, max.input)}\n${await titleOf(page)}\n${await textOf(page)}`;
      return { output: shown.slice(0, max.page), assertion: null };
    }
    case 'assert': {
      const expected = of('expected').replace(/\s+/g, ' ').trim();
      const shown = await shownWith(page, expected);
      const at = shown.indexOf(expected);
      const passed = expected !== '' && at >= 0;
      const actual = shown.slice(Math.max(0, at), Math.max(0, at) + max.actual);
      const assertion = {
        condition: input['condition'] ?? '',
        passed,
        actual,
        expected: input['expected'] ?? '',
      };
      return { output: passed ? 'it holds' : `it does not hold; the page says: ${actual}`, assertion };
    }
    default:
      throw new Error(`there is no tool ${name}`);
  }
}
