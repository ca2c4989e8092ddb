/**
 * The part of the page's script that shows the runs of a check that go on: stage, time, last lines. Lines come from a
 * customer's project; all of it is text.
 */
export const runningScript = String.raw`
/** How far each log is scrolled, where somebody has scrolled it up: the page is drawn again every few seconds. */
const scrolled = new Map();

function elapsed(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 100) return seconds + ' s';
  return Math.floor(seconds / 60) + ' min ' + (seconds % 60) + ' s';
}

function logOf(element, run) {
  // Terminals' colours.
  const lines = run.log.join('\n').replace(/\u001b\[[0-9;]*m/g, '');
  const pre = element('pre', { attributes: { tabindex: '0', 'aria-label': 'Log of the run' } }, lines);
  pre.addEventListener('scroll', () => {
    const isAtEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
    if (isAtEnd) scrolled.delete(run.sequenceId);
    else scrolled.set(run.sequenceId, pre.scrollTop);
  });
  // Once it is in the page.
  requestAnimationFrame(() => (pre.scrollTop = scrolled.get(run.sequenceId) ?? pre.scrollHeight));
  return pre;
}

/** Null where nothing goes on. 'tools': the page's own element, and cancel(run), which ends one. */
export function runningNow({ element, cancel }, runs) {
  if (runs.length === 0) return null;
  for (const id of scrolled.keys()) if (!runs.some((run) => run.sequenceId === id)) scrolled.delete(id);
  const parts = runs.map((run) => {
    const button = run.cancelPath ? element('button', { attributes: { type: 'button' } }, run.cancelRequested ? 'Being cancelled' : 'Cancel') : null;
    if (button) {
      button.disabled = run.cancelRequested;
      button.addEventListener('click', () => {
        button.disabled = true;
        void cancel(run);
      });
    }
    return element('div', {},
      element('div', { class: 'line' },
        element('b', {}, run.stage ?? run.state),
        element('span', { class: 'num' }, elapsed(run.elapsed)),
        element('span', { class: 'soft' }, run.runLocation + (run.isScheduled ? '' : ', asked for')),
        button),
      run.log.length > 0 ? logOf(element, run) : null);
  });
  return element('div', { class: 'part running', attributes: { 'aria-label': 'Running now' } }, element('h3', {}, 'Running now'), ...parts);
}
`;
