/** Statuses: a shape, a colour and a word, so that nobody needs to see the colour. */

const shapes: { readonly [status: string]: string } = {
  passing: '✓',
  passed: '✓',
  up: '✓',
  operational: '✓',
  degraded: '▲',
  failing: '✕',
  failed: '✕',
  down: '✕',
  errored: '!',
  waiting: '…',
  paused: '‖',
  muted: '‖',
  cancelled: '–',
  missed: '–',
  running: '▶',
};
const colours: { readonly [status: string]: string } = {
  passing: 'passed',
  up: 'passed',
  operational: 'passed',
  failing: 'failed',
  down: 'failed',
};

/** The class of a status; each has a colour in styles/status.css. */
export const colourOf = (status: string): string =>
  colours[status] ?? (['passed', 'degraded', 'failed', 'errored'].includes(status) ? status : 'idle');

export function Status({ status, word }: { status: string; word?: string }) {
  return (
    <span class={`status ${colourOf(status)}`}>
      <span aria-hidden="true">{shapes[status] ?? '·'}</span> {word ?? status}
    </span>
  );
}

/** Only the shape; the word is for screen readers and in the tooltip. */
export function StatusMark({ status }: { status: string }) {
  return (
    <span class={`mark ${colourOf(status)}`} title={status}>
      <span aria-hidden="true">{shapes[status] ?? '·'}</span>
      <span class="hidden-text">{status}</span>
    </span>
  );
}
