import type { RunningRun, SuiteRun } from '../page-data.ts';
import { download } from './base/download.ts';
import { element, svgElement, type Tools } from './base/element.ts';
import { failed } from './base/notice.ts';
import { changed, state, type ListedResult } from './base/page-state.ts';
import { resultDetail } from './result/detail.ts';
import { runningNow } from './running-now.ts';
import { cancelRun, get } from './base/service.ts';
import { suiteGraphs } from './result/suite-graphs.ts';
import { ago, colourOf, milliseconds } from './base/words.ts';

/** Shows the runs of the expanded check. */

export const tools: Tools = { element, svgElement, milliseconds, download };

/** The table row below the check's row. */
export function runsRow(): HTMLElement {
  const none = element('tr', {}, element('td', { class: 'empty' }, 'No results yet.'));
  const rows = state.runs.length > 0 ? state.runs.flatMap(rowsOf) : [none];
  const graphs = state.suiteRuns.length > 0 ? suiteGraphs({ ...tools, ago }, state.suiteRuns) : null;
  const table = element('table', { class: 'runs-table' }, element('tbody', {}, ...rows));
  const running = runningNow(state.running, cancel);
  const cell = element('td', { attributes: { colspan: '6' } }, running, graphs, table);
  return element('tr', { class: 'detail' }, cell);
}

function rowsOf(run: ListedResult): HTMLElement[] {
  const row = rowOf(run);
  if (state.openRun !== run.id) return [row];
  const content = state.run?.id === run.id ? state.run.content : ['Loading …'];
  const cell = element('td', { attributes: { colspan: '5' } }, ...content);
  return [row, element('tr', { class: 'run-detail' }, cell)];
}

function rowOf(run: ListedResult): HTMLElement {
  const retry = run.resultType === 'ATTEMPT' ? ' (retried)' : '';
  const reason = run.reason === null ? null : element('div', { class: 'reason' }, run.reason.message);
  return element(
    'tr',
    {},
    element('td', {}, element('span', { class: `status ${colourOf(run.status)}` }, run.status + retry)),
    element('td', {}, reason, detailsButton(run)),
    element('td', { class: 'soft' }, run.runLocation),
    element('td', { class: 'num' }, milliseconds(run.responseTime)),
    element('td', { class: 'num soft' }, element('time', { title: run.startedAt }, ago(run.startedAt))),
  );
}

function detailsButton({ id }: ListedResult): HTMLElement {
  const isOpen = state.openRun === id;
  const attributes = { type: 'button', 'aria-expanded': String(isOpen) };
  const button = element('button', { class: 'name', attributes }, 'Details');
  button.addEventListener('click', () => {
    state.openRun = isOpen ? null : id;
    state.run = null;
    changed();
    if (!isOpen) loadRun(id).catch(failed);
  });
  return button;
}

async function loadRun(id: string): Promise<void> {
  const result = await get<ListedResult>(`/v1/check-results/${state.open}/${id}`);
  if (state.openRun !== id) return;
  // Built once, so that expanded steps stay expanded when the page is redrawn.
  state.run = { id, content: resultDetail(tools, result) };
  changed();
}

/** Reads the runs of the expanded check. */
export async function loadRuns(): Promise<void> {
  const id = state.open;
  const { entries: runs } = await get<{ entries: ListedResult[] }>(
    `/v2/check-results/${id}?limit=10&resultType=ALL`,
  );
  const isSuite = state.checks.find((check) => check.id === id)?.checkType === 'PLAYWRIGHT';
  const { runs: suiteRuns } = isSuite
    ? await get<{ runs: SuiteRun[] }>(`/web/suite-runs?checkId=${id}`)
    : { runs: [] };
  const { runs: running } = await get<{ runs: RunningRun[] }>(`/web/running?checkId=${id}`);
  if (state.open !== id) return;
  Object.assign(state, { runs, suiteRuns, running });
  changed();
}

async function cancel({ cancelPath, sequenceId }: RunningRun): Promise<void> {
  if (cancelPath === null) return;
  try {
    await cancelRun(cancelPath, sequenceId);
    await loadRuns();
  } catch (error) {
    failed(error, 'The run could not be cancelled: ');
  }
}
