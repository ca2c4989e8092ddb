import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** Addresses of pages. Every page, tab and filter is part of the address, so that it can be sent to someone. */

type Place = { readonly path: string; readonly query: URLSearchParams };
const here = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

const listeners = new Set<() => void>();
/** Forms with changes that are not saved, and the parts of the query over whose changes each is kept. */
const unsaved = new Map<object, readonly string[]>();
/** The number of this entry in the history of the tab. Other pages of the tab have none. */
const turnOf = (state: unknown): number =>
  typeof state === 'object' && state !== null && 'turn' in state && typeof state.turn === 'number'
    ? state.turn
    : 0;
/** The address whose page is drawn. */
let shown = new URL(location.href);
let shownTurn = turnOf(history.state);

/** The query without some of its parts, in one order. */
function queryWithout(url: URL, names: readonly string[]): string {
  const query = new URLSearchParams(url.search);
  for (const name of names) query.delete(name);
  query.sort();
  return query.toString();
}

/** Asks if a form with changes would be lost at this address. */
function mayOpen(to: URL): boolean {
  const isLost = (kept: readonly string[]) =>
    to.pathname !== shown.pathname || queryWithout(to, kept) !== queryWithout(shown, kept);
  return ![...unsaved.values()].some(isLost) || confirm('Leave without saving?');
}

function tell(): void {
  shown = new URL(location.href);
  shownTurn = turnOf(history.state);
  for (const listener of listeners) listener();
}
window.addEventListener('popstate', () => {
  if (mayOpen(new URL(location.href))) return tell();
  const back = shownTurn - turnOf(history.state);
  // The address that is drawn: one step forward after Back, and the other way round.
  if (back !== 0) history.go(back);
});

/** Opens an address of these pages. `replace` adds no entry to the history: for filters and typing. */
export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const url = new URL(to, location.href);
  if (!mayOpen(url)) return;
  const isNewPage = url.pathname !== location.pathname;
  if (replace) history.replaceState(history.state, '', url);
  else history.pushState({ turn: shownTurn + 1 }, '', url);
  tell();
  if (isNewPage) scrollTo(0, 0);
}

/**
 * Asks before the page is left while `isChanged`, also for another tab of the page. The guard ends with the component.
 * `keptOver`: names in the query whose changes leave the component as it is.
 */
export function useLeaveGuard(isChanged: boolean, keptOver: readonly string[] = []): void {
  const kept = keptOver.join();
  // It ends with the drawing itself: the address may change right after a save.
  useLayoutEffect(() => {
    if (!isChanged) return;
    const unload = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', unload);
    const own = {};
    unsaved.set(own, kept.split(','));
    return () => {
      removeEventListener('beforeunload', unload);
      unsaved.delete(own);
    };
  }, [isChanged, kept]);
}

/** The current address; the component is drawn again when it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const listener = () => setPlace(here());
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return place;
}

/** Changes parts of the query and keeps the others. Null and empty values are removed. */
export function setQuery(
  change: { readonly [name: string]: string | number | null | readonly string[] },
  options: { replace?: boolean } = { replace: true },
): void {
  const { path, query } = here();
  for (const [name, value] of Object.entries(change)) {
    query.delete(name);
    if (value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  go(text === '' ? path : `${path}?${text}`, options);
}

/** `/checks/:id` matched with `/checks/17` is `{ id: '17' }`; null = no match. */
export function match(pattern: string, path: string): { [name: string]: string } | null {
  const wanted = pattern.split('/');
  const given = path.replace(/\/+$/, '').split('/');
  if (path === '/') given.splice(0, given.length, '', '');
  if (wanted.length !== given.length) return null;
  const found: { [name: string]: string } = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? '';
    if (part.startsWith(':')) {
      if (text === '') return null;
      try {
        found[part.slice(1)] = decodeURIComponent(text);
      } catch {
        return null;
      }
    } else if (part !== text) return null;
  }
  return found;
}

/** Clicks on links to these pages load nothing anew. Links to other places, and clicks with keys held, are left alone. */
export function followLinks(isOurs: (path: string) => boolean): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin)
      return;
    if (!isOurs(link.pathname)) return;
    if (link.hash !== '' && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.href);
  });
}
