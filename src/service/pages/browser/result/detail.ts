import type { Tools } from '../base/element.ts';
import { linesWith, type Lines } from './lines.ts';
import { networkText } from './network.ts';
import { callNodes, pageNodes } from './pages.ts';
import { responseText, timingChips } from './response.ts';
import { testNodes } from './tests.ts';
import { suiteHead } from './suite-head.ts';
import { list, object, text } from '../base/outside.ts';

/**
 * Shows a complete result: tests with their steps, pages, calls, response, log, files.
 * The content comes from a target or a customer's script, so its types are checked, everything is text, and each list
 * has a limit.
 */
export function resultDetail(tools: Tools, given: unknown): HTMLElement[] {
  const { element } = tools;
  const result = object(given);
  const details = object(result['details']);
  const lines = linesWith(tools);
  const { section, block } = lines;
  const isSuite = details['totals'] !== undefined;
  // Tests have their own errors; a suite lists here only the errors of the run.
  const errors = !isSuite && list(details['tests']).length > 0 ? [] : list(details['errors']);
  const timings = timingChips(tools, result['timings']);
  const log = list(result['log'])
    .slice(0, 500)
    .map((entry) => text(object(entry)['msg']))
    .join('\n');
  const parts = [
    isSuite ? section('Suite', suiteHead(tools, details)) : null,
    section('Errors', errors.slice(0, 20).map(lines.error)),
    section('Tests', testNodes(tools, lines, result)),
    section('API calls', callNodes(tools, lines, details)),
    section('Pages', pageNodes(tools, lines, details)),
    section('Assertions', list(result['assertions']).slice(0, 200).map(assertion(tools, lines))),
    section('Response', block(responseText(details))),
    section('Timings', timings.length === 0 ? [] : [element('div', {}, ...timings)]),
    section('Network', block(networkText(details))),
    section('Files', list(result['artifacts']).slice(0, 200).map(lines.file)),
    section('Log', block(log)),
  ].filter((part) => part !== null);
  return parts.length > 0 ? parts : [element('p', { class: 'empty' }, 'No further details were recorded.')];
}

const assertion =
  ({ element }: Tools, lines: Lines) =>
  (given: unknown): HTMLElement => {
    const { source, property, comparison, target, error } = object(given);
    const words = [source, property, comparison, target].filter(Boolean).map((part) => text(part));
    return element(
      'div',
      {},
      lines.line(error ? 'failed' : 'passed', text(words.join(' '), 300), ''),
      error ? lines.error(error) : null,
    );
  };
