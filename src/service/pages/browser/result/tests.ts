import type { Tools } from '../base/element.ts';
import type { Lines } from './lines.ts';
import { count, list, object, text, type Fields } from '../base/outside.ts';
import { suiteTestRank, suiteTestState, suiteTestStatus, suiteTestTitle } from './suite-tests.ts';

/** The tests of a script or a suite, with their errors, steps and files. */
export function testNodes(tools: Tools, lines: Lines, result: Fields): HTMLElement[] {
  const { tests, totals, testsLeftOut } = object(result['details']);
  const isSuite = totals !== undefined;
  const shown = list(tests)
    .slice(0, isSuite ? 1000 : 100)
    .map(object);
  if (isSuite) shown.sort((a, b) => suiteTestRank(a) - suiteTestRank(b));
  const artifacts = list(result['artifacts']);
  const nodes = shown.map((test) => testNode(tools, lines, { test, isSuite, artifacts }));
  const leftOut = count(testsLeftOut);
  if (leftOut > 0) nodes.push(lines.line('idle', `${leftOut} more tests are only in the JSON report`, ''));
  return nodes;
}

function testNode(
  { element, milliseconds }: Tools,
  { line, soft, error, file, steps }: Lines,
  { test, isSuite, artifacts }: { test: Fields; isSuite: boolean; artifacts: readonly unknown[] },
): HTMLElement {
  const inner = steps(test['steps']);
  const status = isSuite ? suiteTestStatus(test) : scriptTestStatus(test);
  const title = isSuite ? suiteTestTitle(test) : text(test['title'], 300);
  const state = isSuite ? suiteTestState(test) : text(test['status'], 40);
  const own = list(test['attachments'])
    .slice(0, 20)
    .map((each) => object(each)['artifact'])
    .filter((name) => typeof name === 'string');
  const attached = artifacts.filter((each) => own.some((name) => name === object(each)['name'])).map(file);
  const isOpen = status === 'failed' || status === 'degraded';
  return element(
    'div',
    {},
    line(status, title, milliseconds(test['durationMs']), soft(state)),
    ...list(test['errors']).slice(0, 20).map(error),
    inner.length === 0
      ? null
      : element(
          'details',
          isOpen ? { attributes: { open: '' } } : {},
          element('summary', {}, 'Steps'),
          element('ul', {}, ...inner),
        ),
    attached.length === 0 ? null : element('ul', {}, ...attached),
  );
}

function scriptTestStatus({ degraded, status }: Fields): string {
  if (degraded === true) return 'degraded';
  if (status === 'passed') return 'passed';
  return status === 'skipped' ? 'idle' : 'failed';
}
