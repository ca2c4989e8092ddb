import { go, usePlace } from '../base/router.ts';

/**
 * Tabs that are part of the address (`?tab=…`). They are links, so each can be opened in another tab of the browser and
 * sent to someone; the first one has no query.
 */
export function Tabs({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly { readonly id: string; readonly title: string; readonly count?: number | undefined }[];
}) {
  const { path, query } = usePlace();
  const current = currentTab(tabs, query);
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, title, count }, at) => (
        <a
          key={id}
          href={at === 0 ? path : `${path}?tab=${id}`}
          aria-current={id === current ? 'page' : undefined}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            // The rest of the query belongs to the tab that is left.
            go(at === 0 ? path : `${path}?tab=${id}`);
          }}
        >
          {title}
          {count !== undefined && (
            <>
              {' '}
              <span class="count">{count}</span>
            </>
          )}
        </a>
      ))}
    </nav>
  );
}

/** The id of the tab that the address names. */
export function currentTab(tabs: readonly { readonly id: string }[], query: URLSearchParams): string {
  const wanted = query.get('tab');
  return tabs.find(({ id }) => id === wanted)?.id ?? tabs[0]?.id ?? '';
}
