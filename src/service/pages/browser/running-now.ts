import type { RunningRun } from '../page-data.ts';
import { element } from './base/element.ts';
import { withoutColours } from './base/outside.ts';
import { elapsed } from './base/words.ts';

/**
 * Shows the active runs of a check: stage, time, last lines. Lines come from a customer's project, so everything is
 * text.
 */

/** Scroll positions of logs that a reader has scrolled up, because the page is redrawn every few seconds. */
const scrolled = new Map<string, number>();

function logOf(run: RunningRun): HTMLElement {
  const attributes = { tabindex: '0', 'aria-label': 'Log of the run' };
  const pre = element('pre', { attributes }, withoutColours(run.log.join('\n')));
  pre.addEventListener('scroll', () => {
    const isAtEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
    if (isAtEnd) scrolled.delete(run.sequenceId);
    else scrolled.set(run.sequenceId, pre.scrollTop);
  });
  // Only a node in the page can scroll.
  requestAnimationFrame(() => (pre.scrollTop = scrolled.get(run.sequenceId) ?? pre.scrollHeight));
  return pre;
}

function cancelButton(run: RunningRun, cancel: (run: RunningRun) => Promise<void>): HTMLElement | null {
  if (run.cancelPath === null) return null;
  const words = run.cancelRequested ? 'Being cancelled' : 'Cancel';
  const button = element('button', { attributes: { type: 'button' } }, words);
  button.disabled = run.cancelRequested;
  button.addEventListener('click', () => {
    button.disabled = true;
    void cancel(run);
  });
  return button;
}

/** Null if no run is active. */
export function runningNow(
  runs: readonly RunningRun[],
  cancel: (run: RunningRun) => Promise<void>,
): HTMLElement | null {
  if (runs.length === 0) return null;
  for (const id of scrolled.keys())
    if (!runs.some(({ sequenceId }) => sequenceId === id)) scrolled.delete(id);
  const parts = runs.map((run) =>
    element(
      'div',
      {},
      element(
        'div',
        { class: 'line' },
        element('b', {}, run.stage ?? run.state),
        element('span', { class: 'num' }, elapsed(run.elapsed)),
        element('span', { class: 'soft' }, run.runLocation + (run.isScheduled ? '' : ', on demand')),
        cancelButton(run, cancel),
      ),
      run.log.length > 0 ? logOf(run) : null,
    ),
  );
  const attributes = { 'aria-label': 'Running now' };
  return element('div', { class: 'part running', attributes }, element('h3', {}, 'Running now'), ...parts);
}
