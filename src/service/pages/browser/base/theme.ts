/** Light, dark, or as the system says. The choice is kept in this browser. */

export type Theme = 'auto' | 'light' | 'dark';
const storage = 'theme';

export function theme(): Theme {
  const kept = localStorage.getItem(storage);
  return kept === 'light' || kept === 'dark' ? kept : 'auto';
}

export function setTheme(to: Theme): void {
  if (to === 'auto') localStorage.removeItem(storage);
  else localStorage.setItem(storage, to);
  apply();
  dispatchEvent(new Event('theme'));
}

const apply = () => {
  const now = theme();
  if (now === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = now;
};

/** Applies the choice, also when another tab changes it. */
export function followTheme(): void {
  apply();
  addEventListener('storage', apply);
  // Charts draw their colours themselves.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
    dispatchEvent(new Event('theme')),
  );
}
