import type { Tools } from '../base/element.ts';
import { count, list, object, text, type Fields } from '../base/outside.ts';

const graphRuns = 30;
const graphHeight = 60;
const barWidth = 12;

/** The parts of the page that the graphs need. ago() is passed as a parameter, because it reads the clock. */
type GraphTools = Pick<Tools, 'element' | 'svgElement' | 'milliseconds'> & {
  readonly ago: (iso: string) => string;
};
type Box = { x: number; y: number; height: number };

/** Graphs of a suite's last runs, oldest first: duration of each run, and test outcomes. */
export function suiteGraphs(tools: GraphTools, runs: unknown): HTMLElement {
  const { element, milliseconds } = tools;
  const shown = list(runs).slice(0, graphRuns).map(object).reverse();
  const longest = Math.max(1, ...shown.map(({ responseTime }) => count(responseTime)));
  const max = Math.max(1, ...shown.map(({ totals }) => count(object(totals)['tests'])));
  const placed = shown.map((run, index) => ({ run, x: (graphRuns - shown.length + index) * barWidth }));
  return element(
    'div',
    { class: 'graphs' },
    graph(tools, {
      title: 'Test performance',
      maxText: `longest ${milliseconds(longest)}`,
      runs: shown.length,
      bars: placed.map(({ run, x }) => timeBar(tools, run, { x, longest })),
    }),
    graph(tools, {
      title: 'Test status',
      maxText: `max. ${max}${max === 1 ? ' test' : ' tests'}`,
      runs: shown.length,
      bars: placed.flatMap(({ run, x }) => stateBars(tools, run, { x, max })),
    }),
  );
}

function graph(
  { element, svgElement }: GraphTools,
  {
    title,
    maxText,
    runs,
    bars,
  }: { title: string; maxText: string; runs: number; bars: readonly SVGElement[] },
): HTMLElement {
  const attributes = {
    viewBox: `0 0 ${graphRuns * barWidth} ${graphHeight}`,
    role: 'img',
    'aria-label': `${title} of the last ${runs} runs`,
  };
  return element(
    'figure',
    {},
    element('figcaption', {}, `${title} `, element('span', { class: 'soft' }, maxText)),
    svgElement('svg', { class: 'graph', attributes }, ...bars),
  );
}

function bar({ svgElement }: GraphTools, colour: string, { x, y, height }: Box, title: string): SVGElement {
  const attributes = {
    x: String(x),
    y: y.toFixed(1),
    width: String(barWidth - 3),
    height: height.toFixed(1),
    rx: '1.5',
  };
  return svgElement('rect', { class: colour, attributes }, svgElement('title', {}, title));
}

const whenOf = ({ ago }: GraphTools, { runLocation, startedAt }: Fields) =>
  `${text(runLocation, 64)}, ${ago(text(startedAt, 40))}`;

function timeBar(tools: GraphTools, run: Fields, { x, longest }: { x: number; longest: number }): SVGElement {
  const { status, responseTime } = run;
  const height = Math.max(2, (count(responseTime) / longest) * graphHeight);
  const known = ['passed', 'degraded', 'failed', 'errored'].find((name) => name === status);
  const title = `${text(status, 20)}, ${tools.milliseconds(responseTime)}, ${whenOf(tools, run)}`;
  return bar(tools, known ?? 'idle', { x, y: graphHeight - height, height }, title);
}

/** One bar of up to four stacked parts. */
function stateBars(tools: GraphTools, run: Fields, { x, max }: { x: number; max: number }): SVGElement[] {
  const totals = object(run['totals']);
  const when = whenOf(tools, run);
  if (count(totals['tests']) === 0) {
    const title = `${text(run['status'], 20)}, no tests, ${when}`;
    return [bar(tools, 'idle', { x, y: graphHeight - 2, height: 2 }, title)];
  }
  const parts = partsOf(totals);
  const title = `${parts.map(({ name, number }) => `${number} ${name}`).join(', ')}, ${when}`;
  let y = graphHeight;
  return parts.map(({ colour, number }) => {
    const height = Math.min((number / max) * graphHeight, y);
    y -= height;
    return bar(tools, colour, { x, y, height }, title);
  });
}

function partsOf(totals: Fields): { colour: string; number: number; name: string }[] {
  const passed = count(totals['passed']) + count(totals['flaky']);
  const degraded = Math.min(passed, count(totals['degraded']));
  const failed = count(totals['failed']) + count(totals['timedOut']) + count(totals['interrupted']);
  return [
    { colour: 'passed', number: passed - degraded, name: 'passed' },
    { colour: 'degraded', number: degraded, name: 'degraded' },
    { colour: 'failed', number: failed, name: 'failed' },
    { colour: 'idle', number: count(totals['skipped']), name: 'skipped' },
  ].filter(({ number }) => number > 0);
}
