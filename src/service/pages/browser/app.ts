import type { Overview } from '../page-data.ts';
import { loadRuns } from './check-runs.ts';
import { drawChecks, pageSize } from './check-table.ts';
import { byId, controlById } from './base/element.ts';
import { showLinked } from './linked-result.ts';
import { drawLocations } from './location-table.ts';
import { failed, notice } from './base/notice.ts';
import { changed, drawWith, state } from './base/page-state.ts';
import { get, key, RefusedKey, Unreachable } from './base/service.ts';
import { askForKey, showAccount } from './base/sign-in.ts';

/**
 * The page: asks for an API key, reads the overview every few seconds and draws it. `#key=…` in the address sets the
 * key.
 */

const refreshMs = 5000;
let timer: ReturnType<typeof setTimeout> | undefined;

async function refresh(): Promise<void> {
  clearTimeout(timer);
  if (!key.isThere()) return;
  try {
    const overview = await get<Overview>(`/web/overview?limit=${pageSize}&page=${state.page}`);
    // The user may have signed out in the meantime.
    if (!key.isThere()) return;
    state.checks = overview.checks;
    state.readAt = new Date().toLocaleTimeString();
    showAccount(overview.account.name, state.readAt);
    notice(null);
    changed();
    drawLocations(overview.locations);
    if (state.open !== null) await loadRuns();
  } catch (error) {
    if (error instanceof RefusedKey) failed(error);
    else notice(outage(error));
  }
  // The key is cleared when the service refuses it.
  if (key.isThere()) timer = setTimeout(() => void refresh(), refreshMs);
}

function outage(error: unknown): string {
  const cause =
    error instanceof Unreachable
      ? 'Cannot reach the service.'
      : `The service reports an error: ${String((error as Error).message).replace(/\.?$/, '.')}`;
  const figures = state.readAt === null ? '' : `; figures are from ${state.readAt}`;
  return `${cause} Retrying every ${refreshMs / 1000} s${figures}.`;
}

function signOut(): void {
  clearTimeout(timer);
  state.readAt = null;
  notice(null);
  askForKey();
}

function turn(pages: number): void {
  state.page += pages;
  void refresh();
}

function begin(): void {
  const [, given] = /^#key=(.+)$/.exec(location.hash) ?? [];
  if (given !== undefined) {
    // The key is removed from the address, and so from the browser history, at once.
    history.replaceState(null, '', location.pathname);
    key.keep(decodeURIComponent(given));
  }
  if (!key.isThere()) return signOut();
  void refresh();
  void showLinked();
}

drawWith(drawChecks);
byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = controlById('key', HTMLInputElement);
  key.keep(field.value.trim());
  field.value = '';
  void refresh();
  void showLinked();
});
byId('sign-out').addEventListener('click', signOut);
const filter = controlById('filter', HTMLInputElement);
filter.addEventListener('input', () => {
  state.filter = filter.value.trim().toLowerCase();
  changed();
});
byId('previous').addEventListener('click', () => turn(-1));
byId('next').addEventListener('click', () => turn(1));
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && key.isThere()) void refresh();
});
window.addEventListener('hashchange', begin);
begin();
