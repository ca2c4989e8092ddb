import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { useUser } from '../base/user.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { found, groupsOf, readDocument, type ApiDocument } from './document.ts';
import { OperationEntry } from './operation.tsx';
import { Prose } from './prose.tsx';
import { operationAt } from './request.ts';

/** The reference of the public API, made from the document of this service. Everybody may read it. */
export function Page() {
  const loaded = useLoad('openapi', readDocument);
  return (
    <Shown of={loaded} what="the reference">
      {(document) => <Reference document={document} />}
    </Shown>
  );
}

function Reference({ document: api }: { document: ApiDocument }) {
  const { query } = usePlace();
  const user = useUser();
  const search = query.get('search') ?? '';
  const groups = useMemo(() => groupsOf(api), [api]);
  const shown = useMemo(() => found(groups, search), [groups, search]);
  const { open, toggle } = useOpenOperations(api);
  const count = shown.reduce((sum, { operations }) => sum + operations.length, 0);
  return (
    <div class="reference">
      <header class="page-head">
        <h1>API reference</h1>
        <p class="soft">
          {api.info.title} {api.info.version}
        </p>
        <p class="ref-links">
          <a href="/openapi.json">openapi.json</a> <a href="/docs/yaml">openapi.yaml</a>{' '}
          <a href="/help/api.html">The rules of all routes</a>
          {user === null && (
            <>
              {' '}
              <a href="/sign-in">Sign in to try requests</a>
            </>
          )}
        </p>
      </header>
      <div class="ref-columns">
        <nav class="ref-nav" aria-label="Subjects">
          <label for="ref-search">Search</label>
          <input
            id="ref-search"
            type="search"
            value={search}
            placeholder="path, name or words"
            onInput={({ currentTarget: { value } }) => setQuery({ search: value })}
          />
          <p class="hint" role="status">
            {count} operations
          </p>
          <ul>
            {shown.map(({ name, id, operations }) => (
              <li key={id}>
                <a href={`#${id}`}>{name}</a> <span class="soft">{operations.length}</span>
              </li>
            ))}
          </ul>
        </nav>
        <div class="ref-main">
          {search === '' && <Prose text={api.info.description} />}
          {shown.length === 0 && (
            <Empty title="No operation has these words">
              <button type="button" onClick={() => setQuery({ search: null })}>
                Show all
              </button>
            </Empty>
          )}
          {shown.map((group) => (
            <section key={group.id} id={group.id} class="ref-group" aria-labelledby={`${group.id}-title`}>
              <h2 id={`${group.id}-title`}>{group.name}</h2>
              <Prose text={group.description} />
              {group.operations.map((operation) => (
                <OperationEntry
                  key={operation.operationId}
                  operation={operation}
                  document={api}
                  isOpen={open.has(operation.operationId)}
                  onToggle={(isOpen) => toggle(operation.operationId, isOpen)}
                />
              ))}
            </section>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The open operations. The one that the address names opens, and the address follows the last that the reader opens. */
function useOpenOperations(api: ApiDocument) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const follow = () => {
      const name = operationAt(location.hash, api);
      if (name !== null) setOpen((before) => new Set([...before, name]));
      // The browser has looked for the place before it was drawn.
      const id = name ?? location.hash.slice(1);
      if (id !== '') requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView());
    };
    follow();
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, [api]);
  const toggle = (name: string, isOpen: boolean) => {
    setOpen((before) => new Set(isOpen ? [...before, name] : [...before].filter((one) => one !== name)));
    if (isOpen) history.replaceState(null, '', `${location.pathname}${location.search}#${name}`);
  };
  return { open, toggle };
}
