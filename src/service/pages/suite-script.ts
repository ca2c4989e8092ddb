/**
 * The part of the page's script that shows Playwright suites: the head of one run, and graphs of the last runs. Joined to
 * result-script.ts, whose helpers it uses; as there, nothing is taken for granted.
 */
export const suiteScript = String.raw`
const count = (value) => (typeof value === 'number' && value > 0 ? Math.trunc(value) : 0);
const failedOf = (totals) => count(totals.failed) + count(totals.timedOut) + count(totals.interrupted);

/** Colour of a test's line. */
const suiteTestStatus = ({ status, degraded }) => {
  if (status === 'skipped') return 'idle';
  if (status !== 'passed' && status !== 'flaky') return 'failed';
  return degraded === true || status === 'flaky' ? 'degraded' : 'passed';
};

/** Project, file, describe blocks, title. */
const suiteTestTitle = (test) => {
  const path = list(test.titlePath).slice(0, 20).map((part) => text(part, 200)).filter(Boolean);
  const project = text(test.project, 100);
  return text((project ? '[' + project + '] ' : '') + (path.length > 0 ? path.join(' › ') : text(test.title)), 500);
};

/** Failed tests first, then those that someone should look at. */
const suiteTestRank = (test) => ({ failed: 0, degraded: 1, passed: 2, idle: 3 })[suiteTestStatus(test)];

function suiteTestState(test) {
  const retries = count(test.retries);
  return [text(test.status, 40), test.degraded === true ? 'degraded' : '', retries > 0 ? retries + (retries === 1 ? ' retry' : ' retries') : '']
    .filter(Boolean).join(', ');
}

/** Numbers, tools and stages of a run. */
function suiteHead({ element, milliseconds }, details) {
  const totals = object(details.totals);
  const always = [['passed', count(totals.passed), 'passed'], ['degraded', count(totals.degraded), 'degraded'], ['failed', count(totals.failed), 'failed']];
  const others = [['flaky', count(totals.flaky), 'degraded'], ['timed out', count(totals.timedOut), 'failed'],
    ['interrupted', count(totals.interrupted), 'failed'], ['skipped', count(totals.skipped), 'idle']].filter(([, number]) => number > 0);
  const numbers = [...always, ...others].map(([name, number, status]) =>
    element('span', { class: 'status ' + (number > 0 ? status : 'idle') }, number + ' ' + name));
  const tool = (value) => {
    const { name, version } = object(value);
    return name ? text(name, 40) + (version ? ' ' + text(version, 40) : '') : '';
  };
  const tools = [details.playwrightVersion ? 'Playwright ' + text(details.playwrightVersion, 40) : '', tool(details.engine), tool(details.packageManager),
    details.dependencyCache ? 'dependency cache: ' + text(details.dependencyCache, 40) : '',
    typeof details.exitCode === 'number' ? 'exit code ' + details.exitCode : ''].filter(Boolean);
  const stages = list(details.stages).slice(0, 20).map(object).map((stage) =>
    element('span', { class: 'chip' }, text(stage.name, 40) + ' ' + milliseconds(stage.durationMs)));
  return [
    element('div', { class: 'line numbers' }, element('b', {}, count(totals.tests) + (totals.tests === 1 ? ' test' : ' tests')), ...numbers),
    tools.length === 0 ? null : element('div', { class: 'line soft' }, tools.join(', ')),
    stages.length === 0 ? null : element('div', { class: 'line' }, element('span', { class: 'soft' }, 'Stages'), ...stages),
  ].filter((node) => node !== null);
}

const graphRuns = 30;
const graphHeight = 60;
const barWidth = 12;

/** The last runs of a suite, oldest first: how long each took, and what its tests came to. 'ago' is the page's own. */
export function suiteGraphs({ element, milliseconds, ago }, runs) {
  const shown = list(runs).slice(0, graphRuns).map(object).reverse();
  const graph = (title, mostText, bars) => {
    const svg = element('svg', { svg: true, class: 'graph', attributes: {
      viewBox: '0 0 ' + graphRuns * barWidth + ' ' + graphHeight, role: 'img', 'aria-label': title + ' of the last ' + shown.length + ' runs' } });
    svg.append(...bars);
    return element('figure', {}, element('figcaption', {}, title + ' ', element('span', { class: 'soft' }, mostText)), svg);
  };
  const place = (index) => (graphRuns - shown.length + index) * barWidth;
  const bar = (status, { x, y, height }, title) =>
    element('rect', { svg: true, class: status, attributes: { x: String(x), y: y.toFixed(1), width: String(barWidth - 3), height: height.toFixed(1), rx: '1.5' } },
      element('title', { svg: true }, title));
  const when = (run) => text(run.runLocation, 64) + ', ' + ago(run.startedAt);
  const statusOf = ({ status }) => (['passed', 'degraded', 'failed', 'errored'].includes(status) ? status : 'idle');

  const longest = Math.max(1, ...shown.map((run) => count(run.responseTime)));
  const times = shown.map((run, index) => {
    const height = Math.max(2, (count(run.responseTime) / longest) * graphHeight);
    return bar(statusOf(run), { x: place(index), y: graphHeight - height, height }, text(run.status, 20) + ', ' + milliseconds(run.responseTime) + ', ' + when(run));
  });

  const most = Math.max(1, ...shown.map((run) => count(object(run.totals).tests)));
  const states = shown.flatMap((run, index) => {
    const totals = object(run.totals);
    const x = place(index);
    if (count(totals.tests) === 0) {
      return [bar('idle', { x, y: graphHeight - 2, height: 2 }, text(run.status, 20) + ', no tests, ' + when(run))];
    }
    const passed = count(totals.passed) + count(totals.flaky);
    const degraded = Math.min(passed, count(totals.degraded));
    const parts = [['passed', passed - degraded, 'passed'], ['degraded', degraded, 'degraded'], ['failed', failedOf(totals), 'failed'], ['idle', count(totals.skipped), 'skipped']];
    const title = parts.filter(([, number]) => number > 0).map(([, number, name]) => number + ' ' + name).join(', ') + ', ' + when(run);
    let y = graphHeight;
    return parts.filter(([, number]) => number > 0).map(([status, number]) => {
      const height = Math.min((number / most) * graphHeight, y);
      y -= height;
      return bar(status, { x, y, height }, title);
    });
  });
  return element('div', { class: 'graphs' },
    graph('Test performance', 'longest ' + milliseconds(longest), times),
    graph('Test status', 'most ' + most + (most === 1 ? ' test' : ' tests'), states));
}
`;
