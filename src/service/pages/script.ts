/**
 * The page's script, as served. It builds every node with textContent, so names from checks can't become markup. The
 * key lives in sessionStorage; `#key=…` in the address sets it and is removed from the address at once.
 */
export const pageScript = String.raw`
import { resultDetail, suiteGraphs } from '/web/result.js';
import { runningNow } from '/web/running.js';

const storage = 'api-key';
const refreshMs = 5000;
const pageSize = 50;
const $ = (id) => document.getElementById(id);
const state = { page: 1, filter: '', open: null, openRun: null, run: null, checks: [], runs: [], suiteRuns: [], running: [], timer: 0 };

function element(tag, options = {}, ...children) {
  const node = options.svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  if (options.class) node.setAttribute('class', options.class);
  if (options.title) node.title = options.title;
  for (const [name, value] of Object.entries(options.attributes ?? {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

const word = (status) => ({ cancelled: 'idle', missed: 'idle' })[status] ?? status;

function ago(iso) {
  if (!iso) return 'never';
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  if (seconds < 100) return seconds + ' s ago';
  if (seconds < 6000) return Math.round(seconds / 60) + ' min ago';
  if (seconds < 172800) return Math.round(seconds / 3600) + ' h ago';
  return Math.round(seconds / 86400) + ' days ago';
}

function milliseconds(value) {
  if (typeof value !== 'number') return '–';
  if (value < 10) return value.toFixed(1) + ' ms';
  return value < 10000 ? Math.round(value) + ' ms' : (value / 1000).toFixed(1) + ' s';
}

const every = (check) => (check.frequency === 0 ? 'every ' + (check.frequencyOffset ?? 10) + ' s' : 'every ' + check.frequency + ' min');

async function get(path) {
  const answer = await fetch(path, { headers: { authorization: 'Bearer ' + sessionStorage.getItem(storage) } });
  if (answer.status === 401) {
    ask('This key was refused.');
    throw new Error('refused');
  }
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message);
  return body;
}

function show(problem) {
  $('problem').hidden = problem === null;
  $('problem').textContent = problem ?? '';
}

function ask(problem) {
  clearTimeout(state.timer);
  sessionStorage.removeItem(storage);
  show(problem);
  $('main').hidden = true;
  $('forget').hidden = true;
  $('account').textContent = '';
  $('updated').textContent = '';
  $('ask').hidden = false;
  $('key').focus();
}

function tile(count, name, status) {
  return element('div', { class: 'tile ' + status }, element('b', {}, String(count)), element('span', {}, name));
}

/** The last runs, oldest first: one bar each, its height the response time. */
function bars(runs) {
  const height = 30;
  const width = 8.2;
  const highest = Math.max(...runs.map((run) => run.responseTime), 1);
  const svg = element('svg', { svg: true, class: 'runs', attributes: { viewBox: '0 0 164 30', role: 'img', 'aria-label': runs.length + ' last runs' } });
  const ordered = [...runs].reverse();
  ordered.forEach((run, index) => {
    const size = Math.max(4, (run.responseTime / highest) * height);
    const x = (20 - ordered.length + index) * width;
    const attributes = { x: x.toFixed(1), y: (height - size).toFixed(1), width: '6', height: size.toFixed(1), rx: '1.5' };
    svg.append(
      element('rect', { svg: true, class: word(run.status), attributes },
        element('title', { svg: true }, run.status + ', ' + milliseconds(run.responseTime) + ', ' + run.runLocation + ', ' + ago(run.startedAt))),
    );
  });
  return svg;
}

function statusOf(check) {
  if (!check.activated) return { text: 'off', name: 'idle' };
  if (!check.status) return { text: 'waiting', name: 'idle' };
  return { text: check.status.status, name: word(check.status.status) };
}

function checkRow(check) {
  const status = statusOf(check);
  const name = element('button', { class: 'name', attributes: { type: 'button', 'aria-expanded': String(state.open === check.id) } }, check.name);
  name.addEventListener('click', () => {
    state.open = state.open === check.id ? null : check.id;
    state.runs = [];
    state.suiteRuns = [];
    state.running = [];
    state.openRun = null;
    state.run = null;
    draw();
    if (state.open) void loadRuns();
  });
  const reason = check.status?.reason && check.activated ? element('div', { class: 'reason' }, check.status.reason.message) : null;
  const places = [...check.privateLocations, ...check.locations];
  const last = check.results[0];
  return element('tr', {},
    element('td', {}, element('span', { class: 'status ' + status.name }, status.text)),
    element('td', {}, name, element('div', { class: 'soft' }, element('span', { class: 'chip' }, check.checkType), every(check), check.muted ? ', muted' : ''), reason),
    element('td', { class: 'wide soft' }, places.join(', ')),
    element('td', {}, bars(check.results)),
    element('td', { class: 'num' }, last ? milliseconds(last.responseTime) : '–'),
    element('td', { class: 'num soft' }, ago(check.status?.lastStartedAt)),
  );
}

/** Fetched with the key, which a plain link would not send. */
async function download(url, name) {
  try {
    const { pathname } = new URL(url, location.href);
    const answer = await fetch(pathname, { headers: { authorization: 'Bearer ' + sessionStorage.getItem(storage) } });
    if (!answer.ok) throw new Error((await answer.json()).message);
    const link = element('a', { attributes: { href: URL.createObjectURL(await answer.blob()), download: name } });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    show('The file could not be fetched: ' + error.message);
  }
}

function runRows(run) {
  const row = runRow(run);
  if (state.openRun !== run.id) return [row];
  const tools = { element, milliseconds, download };
  // Made once, so that what is folded open stays open when the page is drawn again.
  if (state.run?.id === run.id) state.run.content ??= resultDetail(tools, state.run);
  const content = state.run?.id === run.id ? state.run.content : ['Loading …'];
  return [row, element('tr', { class: 'run-detail' }, element('td', { attributes: { colspan: '5' } }, ...content))];
}

async function loadRun() {
  const id = state.openRun;
  const run = await get('/v1/check-results/' + state.open + '/' + id);
  if (state.openRun !== id) return;
  state.run = run;
  draw();
}

function runRow(run) {
  const retry = run.resultType === 'ATTEMPT' ? ' (retried)' : '';
  const isOpen = state.openRun === run.id;
  const details = element('button', { class: 'name', attributes: { type: 'button', 'aria-expanded': String(isOpen) } }, 'Details');
  details.addEventListener('click', () => {
    state.openRun = isOpen ? null : run.id;
    state.run = null;
    draw();
    if (state.openRun) loadRun().catch((error) => show(error.message));
  });
  return element('tr', {},
    element('td', {}, element('span', { class: 'status ' + word(run.status) }, run.status + retry)),
    element('td', {}, run.reason ? element('div', { class: 'reason' }, run.reason.message) : element('span', { class: 'soft' }, 'no findings'), details),
    element('td', { class: 'soft' }, run.runLocation),
    element('td', { class: 'num' }, milliseconds(run.responseTime)),
    element('td', { class: 'num soft' }, element('time', { title: run.startedAt }, ago(run.startedAt))),
  );
}

function detailRow() {
  const rows = state.runs.length > 0 ? state.runs.flatMap(runRows) : [element('tr', {}, element('td', { class: 'empty' }, 'No results yet.'))];
  const table = element('table', { class: 'runs-table' }, element('tbody', {}, ...rows));
  const graphs = state.suiteRuns.length > 0 ? suiteGraphs({ element, milliseconds, ago }, state.suiteRuns) : null;
  const running = runningNow({ element, cancel }, state.running);
  return element('tr', { class: 'detail' }, element('td', { attributes: { colspan: '6' } }, running, graphs, table));
}

function matches(check) {
  const text = [check.name, check.checkType, statusOf(check).text, ...check.tags, ...check.locations, ...check.privateLocations].join(' ').toLowerCase();
  return state.filter.split(/\s+/).every((part) => text.includes(part));
}

function draw() {
  const count = (...names) => state.checks.filter((check) => names.includes(statusOf(check).text)).length;
  $('tiles').replaceChildren(
    tile(count('passed'), 'passed', 'passed'),
    tile(count('degraded'), 'degraded', 'degraded'),
    tile(count('failed'), 'failed', 'failed'),
    tile(count('errored'), 'errored', 'errored'),
    tile(count('off', 'waiting', 'missed', 'cancelled'), 'waiting or off', 'idle'),
  );
  const shown = state.checks.filter(matches);
  const rows = shown.flatMap((check) => (check.id === state.open ? [checkRow(check), detailRow()] : [checkRow(check)]));
  const nothing = state.checks.length === 0 ? 'There are no checks yet: POST /v1/checks/url makes the first.' : 'No check matches.';
  const empty = element('tr', {}, element('td', { class: 'empty', attributes: { colspan: '6' } }, nothing));
  $('checks').replaceChildren(...(rows.length > 0 ? rows : [empty]));
  $('pages').hidden = state.page === 1 && state.checks.length < pageSize;
  $('previous').disabled = state.page === 1;
  $('next').disabled = state.checks.length < pageSize;
  $('page').textContent = 'Page ' + state.page;
}

function drawLocations(locations) {
  const rows = locations.map((location) =>
    element('tr', {},
      element('td', {}, element('span', { class: 'status ' + (location.agentCount > 0 ? 'passed' : 'idle') }, location.agentCount === 1 ? '1 agent' : location.agentCount + ' agents')),
      element('td', {}, element('b', {}, location.name), element('div', { class: 'soft' }, location.slugName)),
      element('td', { class: 'wide soft' }, location.runningAgents.map((agent) => agent.version + ' × ' + agent.count).join(', ')),
      element('td', { class: 'num' }, String(location.keyCount)),
      element('td', { class: 'num soft' }, ago(location.lastSeen)),
    ),
  );
  const empty = element('tr', {}, element('td', { class: 'empty', attributes: { colspan: '5' } }, 'There are no locations yet: POST /v1/private-locations makes the first.'));
  $('locations').replaceChildren(...(rows.length > 0 ? rows : [empty]));
}

/** Ends a run that somebody asked for. */
async function cancel(run) {
  try {
    const answer = await fetch(run.cancelPath, {
      method: 'POST',
      headers: { authorization: 'Bearer ' + sessionStorage.getItem(storage), 'content-type': 'application/json' },
      body: JSON.stringify({ sequenceId: [run.sequenceId] }),
    });
    if (!answer.ok) throw new Error((await answer.json()).message);
    await loadRuns();
  } catch (error) {
    show('The run could not be cancelled: ' + error.message);
  }
}

async function loadRuns() {
  const id = state.open;
  const { entries: runs } = await get('/v2/check-results/' + id + '?limit=10&resultType=ALL');
  const isSuite = state.checks.find((check) => check.id === id)?.checkType === 'PLAYWRIGHT';
  const { runs: suiteRuns } = isSuite ? await get('/web/suite-runs?checkId=' + id) : { runs: [] };
  const { runs: running } = await get('/web/running?checkId=' + id);
  if (state.open !== id) return;
  state.running = running;
  state.runs = runs;
  state.suiteRuns = suiteRuns;
  draw();
}

async function refresh() {
  clearTimeout(state.timer);
  try {
    const overview = await get('/web/overview?limit=' + pageSize + '&page=' + state.page);
    state.checks = overview.checks;
    $('account').textContent = overview.account.name;
    $('updated').textContent = 'Updated ' + new Date().toLocaleTimeString();
    $('ask').hidden = true;
    $('main').hidden = false;
    $('forget').hidden = false;
    show(null);
    draw();
    drawLocations(overview.locations);
    if (state.open) await loadRuns();
  } catch (error) {
    if (error.message !== 'refused') show('The service does not answer: ' + error.message);
  }
  if (sessionStorage.getItem(storage)) state.timer = setTimeout(refresh, refreshMs);
}

$('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(storage, $('key').value.trim());
  $('key').value = '';
  void refresh();
  void showLinked();
});
$('forget').addEventListener('click', () => ask(null));
$('filter').addEventListener('input', (event) => {
  state.filter = event.target.value.trim().toLowerCase();
  draw();
});
const turn = (step) => {
  state.page += step;
  void refresh();
};
$('previous').addEventListener('click', () => turn(-1));
$('next').addEventListener('click', () => turn(1));
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && sessionStorage.getItem(storage)) void refresh();
});

/** The result that notifications link to: #result=<check>/<result>. */
async function showLinked() {
  const [, checkId, resultId] = /^#result=([0-9a-f-]{36})\/([0-9a-f-]{36})$/.exec(location.hash) ?? [];
  $('linked').hidden = !resultId;
  if (!resultId) return;
  const place = $('linked-result');
  place.replaceChildren('Loading …');
  try {
    const run = await get('/v1/check-results/' + checkId + '/' + resultId);
    const name = await get('/v1/checks/' + checkId).then((check) => check.name, () => 'a check that is gone');
    $('linked-title').textContent = 'Result of ' + name;
    place.replaceChildren(
      element('p', {}, element('span', { class: 'status ' + word(run.status) }, run.status), ' ' + run.runLocation + ', ', milliseconds(run.responseTime) + ', ', element('time', { title: run.startedAt }, ago(run.startedAt))),
      ...(run.reason ? [element('p', { class: 'reason' }, run.reason.message)] : []),
      ...resultDetail({ element, milliseconds, download }, run),
    );
  } catch (error) {
    if (error.message !== 'refused') place.replaceChildren('The result could not be read: ' + error.message);
  }
}

function begin() {
  const given = /^#key=(.+)$/.exec(location.hash);
  if (given) {
    history.replaceState(null, '', location.pathname);
    sessionStorage.setItem(storage, decodeURIComponent(given[1]));
  }
  if (!sessionStorage.getItem(storage)) return ask(null);
  void refresh();
  void showLinked();
}
window.addEventListener('hashchange', begin);
begin();
`;
