import type { ShownCheck } from '../page-data.ts';
import { loadRuns, runsRow } from './check-runs.ts';
import { byId, controlById, element, svgElement } from './base/element.ts';
import { failed } from './base/notice.ts';
import { changed, openCheck, state } from './base/page-state.ts';
import { ago, colourOf, every, milliseconds } from './base/words.ts';

/** Checks on one page of the list. */
export const pageSize = 50;

/** Draws the tiles, the checks and the page buttons. */
export function drawChecks(): void {
  drawTiles();
  const rows = state.checks
    .filter(matches)
    .flatMap((check) => (check.id === state.open ? [rowOf(check), runsRow()] : [rowOf(check)]));
  byId('checks').replaceChildren(...(rows.length > 0 ? rows : [emptyRow()]));
  const isLast = state.checks.length < pageSize;
  byId('pages').hidden = state.page === 1 && isLast;
  controlById('previous', HTMLButtonElement).disabled = state.page === 1;
  controlById('next', HTMLButtonElement).disabled = isLast;
  byId('page').textContent = `Page ${state.page}`;
}

function drawTiles(): void {
  const tile = (name: string, colour: string, ...statuses: readonly string[]) => {
    const count = state.checks.filter((check) => statuses.includes(statusOf(check).text)).length;
    const number = element('b', {}, String(count));
    return element('div', { class: `tile ${colour}` }, number, element('span', {}, name));
  };
  byId('tiles').replaceChildren(
    tile('passed', 'passed', 'passed'),
    tile('degraded', 'degraded', 'degraded'),
    tile('failed', 'failed', 'failed'),
    tile('errored', 'errored', 'errored'),
    tile('waiting or inactive', 'idle', 'off', 'waiting', 'missed', 'cancelled'),
  );
}

function statusOf({ activated, status }: ShownCheck): { text: string; colour: string } {
  if (!activated) return { text: 'off', colour: 'idle' };
  if (status === null) return { text: 'waiting', colour: 'idle' };
  return { text: status.status, colour: colourOf(status.status) };
}

function matches(check: ShownCheck): boolean {
  const { name, checkType, tags, locations, privateLocations } = check;
  const words = [name, checkType, statusOf(check).text, ...tags, ...locations, ...privateLocations];
  const text = words.join(' ').toLowerCase();
  return state.filter.split(/\s+/).every((part) => text.includes(part));
}

function rowOf(check: ShownCheck): HTMLElement {
  const { text, colour } = statusOf(check);
  const reason = check.activated ? check.status?.reason : null;
  const [last] = check.results;
  return element(
    'tr',
    {},
    element('td', {}, element('span', { class: `status ${colour}` }, text)),
    element(
      'td',
      {},
      nameButton(check),
      element(
        'div',
        { class: 'soft' },
        element('span', { class: 'chip' }, check.checkType),
        every(check),
        check.muted ? ', muted' : '',
      ),
      reason ? element('div', { class: 'reason' }, reason.message) : null,
    ),
    element('td', { class: 'wide soft' }, [...check.privateLocations, ...check.locations].join(', ')),
    element('td', {}, bars(check.results)),
    element('td', { class: 'num' }, last === undefined ? '–' : milliseconds(last.responseTime)),
    element('td', { class: 'num soft' }, ago(check.status?.lastStartedAt)),
  );
}

function nameButton({ id, name }: ShownCheck): HTMLElement {
  const attributes = { type: 'button', 'aria-expanded': String(state.open === id) };
  const button = element('button', { class: 'name', attributes }, name);
  button.addEventListener('click', () => {
    openCheck(state.open === id ? null : id);
    changed();
    if (state.open !== null) loadRuns().catch(failed);
  });
  return button;
}

const maxBars = 20;
const barWidth = 8.2;
const barsHeight = 30;

/** The last runs, oldest first, as bars whose height is the response time. */
function bars(runs: ShownCheck['results']): SVGElement {
  const highest = Math.max(...runs.map(({ responseTime }) => responseTime), 1);
  const drawn = [...runs].reverse().map((run, index) => {
    const height = Math.max(4, (run.responseTime / highest) * barsHeight);
    const attributes = {
      x: ((maxBars - runs.length + index) * barWidth).toFixed(1),
      y: (barsHeight - height).toFixed(1),
      width: '6',
      height: height.toFixed(1),
      rx: '1.5',
    };
    const { status, responseTime, runLocation, startedAt } = run;
    const title = [status, milliseconds(responseTime), runLocation, ago(startedAt)].join(', ');
    return svgElement('rect', { class: colourOf(status), attributes }, svgElement('title', {}, title));
  });
  const attributes = {
    viewBox: `0 0 ${maxBars * barWidth} ${barsHeight}`,
    role: 'img',
    'aria-label': `${runs.length} last runs`,
  };
  return svgElement('svg', { class: 'runs', attributes }, ...drawn);
}

function emptyRow(): HTMLElement {
  const attributes = { colspan: '6' };
  if (state.checks.length > 0)
    return element('tr', {}, element('td', { class: 'empty', attributes }, 'No check matches.'));
  const words = element('p', {}, 'No checks yet. This command creates one, with your API key and location:');
  const command = element('pre', { class: 'command' }, firstCheckCommand());
  return element('tr', {}, element('td', { class: 'empty', attributes }, words, command));
}

function firstCheckCommand(): string {
  const body = {
    name: 'My first check',
    privateLocations: ['my-location'],
    frequency: 1,
    request: { url: 'https://example.com' },
  };
  return [
    `curl -X POST ${location.origin}/v1/checks/url \\`,
    `  -H 'authorization: Bearer YOUR_API_KEY' \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}
