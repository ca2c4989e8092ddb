import { byId } from './element.ts';
import { key } from './service.ts';

/** Deletes the key and shows the sign-in form. */
export function askForKey(): void {
  key.forget();
  byId('main').hidden = true;
  byId('sign-out').hidden = true;
  byId('account').textContent = '';
  byId('updated').textContent = '';
  byId('ask').hidden = false;
  byId('key').focus();
}

/** Shows the page of an account. */
export function showAccount(name: string, readAt: string): void {
  byId('account').textContent = name;
  byId('updated').textContent = `Updated ${readAt}`;
  byId('ask').hidden = true;
  byId('main').hidden = false;
  byId('sign-out').hidden = false;
}
