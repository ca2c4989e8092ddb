import { byId } from './element.ts';
import { RefusedKey } from './service.ts';
import { askForKey } from './sign-in.ts';

/** Shows a problem above the page; null removes it. */
export function notice(problem: string | null): void {
  const place = byId('problem');
  place.hidden = problem === null;
  place.textContent = problem ?? '';
}

/** Shows why something failed. After a refused key, the sign-in form is shown instead. */
export function failed(error: unknown, words = ''): void {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RefusedKey) askForKey();
  notice(error instanceof RefusedKey ? message : words + message);
}
