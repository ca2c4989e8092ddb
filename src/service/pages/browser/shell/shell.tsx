import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { usePlace } from '../base/router.ts';
import { setTheme, theme, type Theme } from '../base/theme.ts';
import { signOut, useUser } from '../base/user.ts';
import { Messages } from '../parts/messages.tsx';
import { DialogHost } from '../parts/dialog.tsx';

/** The frame of all pages: navigation, the user, messages. */

const areas = [
  { path: '/', title: 'Checks', also: ['/checks', '/groups', '/projects'] },
  { path: '/alerts', title: 'Alerts', also: ['/channels', '/notifications'] },
  { path: '/incidents', title: 'Incidents', also: [] },
  { path: '/maintenance', title: 'Maintenance', also: [] },
  { path: '/status-pages', title: 'Status pages', also: ['/services'] },
  { path: '/locations', title: 'Locations', also: [] },
  { path: '/reports', title: 'Reports', also: [] },
  { path: '/settings', title: 'Settings', also: ['/variables', '/snippets', '/keys'] },
] as const;

const isIn = (path: string, area: (typeof areas)[number]) =>
  [area.path, ...area.also].some((start) =>
    start === '/' ? path === '/' : path === start || path.startsWith(`${start}/`),
  );

export function Shell({ children }: { children: ComponentChildren }) {
  const { path } = usePlace();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          <span class="brand-mark" aria-hidden="true" />
          Monitoring
        </a>
        <button
          type="button"
          class="plain nav-button"
          aria-expanded={isOpen}
          aria-controls="areas"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        <nav id="areas" aria-label="Areas" class={isOpen ? 'open' : ''}>
          <ul>
            {areas.map((area) => (
              <li key={area.path}>
                <a href={area.path} aria-current={isIn(path, area) ? 'page' : undefined}>
                  {area.title}
                </a>
              </li>
            ))}
          </ul>
          <UserMenu />
        </nav>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Messages />
      <DialogHost />
    </div>
  );
}

function UserMenu() {
  const user = useUser();
  const [chosen, setChosen] = useState<Theme>(theme);
  if (user === undefined) return null;
  return (
    <div class="user">
      {user !== null && (
        <span class="account" title={`Key: ${user.keyName} (${user.role.replace('_', ' ').toLowerCase()})`}>
          {user.account.name}
        </span>
      )}
      <a href="/docs">API</a>
      <a href="/help/">Help</a>
      <label class="theme">
        <span class="hidden-text">Colours</span>
        <select
          value={chosen}
          onChange={({ currentTarget: { value } }) => {
            setTheme(value as Theme);
            setChosen(value as Theme);
          }}
        >
          <option value="auto">Auto</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      {user === null ? (
        <a href="/sign-in">Sign in</a>
      ) : (
        <button type="button" class="plain" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </div>
  );
}
