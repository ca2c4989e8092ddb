import { byId } from './element.ts';
import { RefusedKey } from './service.ts';
import { askForKey } from './sign-in.ts';

/** Shows a problem above everything else; null takes the last one away. */
export function notice(problem: string | null): void {
  const place = byId('problem');
  place.hidden = problem === null;
  place.textContent = problem ?? '';
}

/** Shows why something failed. A refused key leads back to the form instead. */
export function failed(error: unknown, words = ''): void {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RefusedKey) askForKey();
  notice(error instanceof RefusedKey ? message : words + message);
}
