import { useState } from 'preact/hooks';
import { useLoad } from '../base/load.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { get } from '../base/service.ts';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { CodeField } from '../parts/code/code.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { TextField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { Ago } from '../parts/time.tsx';
import { EntryList, useEntries } from './entries.tsx';
import { DeleteButton, removeEntry } from '../parts/removal.tsx';
import type { Snippet } from './types.ts';

/** Snippets: code that scripts share. The open one is part of the address. */

const path = '/v1/snippets';
const open = (snippet: string | null) => setQuery({ snippet, page: null }, { replace: false });

export function Snippets() {
  const { query } = usePlace();
  const chosen = query.get('snippet');
  return chosen === null ? <List /> : <One key={chosen} id={chosen} />;
}

function List() {
  const loaded = useEntries<Snippet>(path);
  const mayWrite = useMay('READ_WRITE');
  const remove = async ({ id, name }: Snippet) => {
    const text = 'Scripts that require it will fail.';
    if (await removeEntry({ path: `${path}/${id}`, name: `the snippet ${name}`, text })) loaded.reload();
  };
  return (
    <>
      <div class="line tab-head">
        <p class="soft">Scripts load a snippet with require('./snippets/NAME.js').</p>
        {mayWrite && (
          <button type="button" class="main" onClick={() => open('new')}>
            New snippet
          </button>
        )}
      </div>
      <EntryList of={loaded} what="snippets">
        {(snippets) =>
          snippets.length === 0 ? (
            <div class="card">
              <Empty title="No snippets yet">A snippet is code that several scripts share.</Empty>
            </div>
          ) : (
            <div class="card">
              <ul class="plain-list">
                {snippets.map((snippet) => (
                  <li key={snippet.id} class="line">
                    <a href={`?tab=snippets&snippet=${snippet.id}`}>{snippet.name}</a>
                    <span class="soft">
                      {snippet.script.length} characters, changed{' '}
                      <Ago at={snippet.updated_at ?? snippet.created_at} />
                    </span>
                    {mayWrite && <DeleteButton name={snippet.name} onClick={() => void remove(snippet)} />}
                  </li>
                ))}
              </ul>
            </div>
          )
        }
      </EntryList>
    </>
  );
}

function One({ id }: { id: string }) {
  const [isNew] = useState(id === 'new');
  const own = `${path}/${encodeURIComponent(id)}`;
  const loaded = useLoad(isNew ? null : own, (signal) => get<Snippet>(own, signal));
  if (isNew) return <SnippetForm snippet={null} />;
  return (
    <Shown of={loaded} what="the snippet">
      {(snippet) => <SnippetForm snippet={snippet} />}
    </Shown>
  );
}

function SnippetForm({ snippet }: { snippet: Snippet | null }) {
  const mayWrite = useMay('READ_WRITE');
  const form = useForm({ name: snippet?.name ?? '', script: snippet?.script ?? '' });
  const { body, change, errors } = form;
  const [method, to] =
    snippet === null ? (['POST', path] as const) : (['PUT', `${path}/${snippet.id}`] as const);
  const submit = async () => {
    if ((await form.save(method, to)) === undefined) return;
    sayDone('Saved the snippet');
    open(null);
  };
  return (
    <>
      <h2>{snippet === null ? 'New snippet' : snippet.name}</h2>
      <Form
        message={form.message}
        onSubmit={() => void submit()}
        buttons={
          <>
            {mayWrite && (
              <Button type="submit" class="main" isOff={form.isBusy}>
                {snippet === null ? 'Create snippet' : 'Save'}
              </Button>
            )}
            <button type="button" onClick={() => open(null)}>
              All snippets
            </button>
          </>
        }
      >
        <TextField
          label="Name"
          required
          disabled={!mayWrite}
          hint="The name of a file without .js"
          value={body.name}
          error={errorAt(errors, 'name')}
          onChange={(name) => change({ name })}
        />
        <CodeField
          label="Script"
          isReadOnly={!mayWrite}
          value={body.script}
          error={errorAt(errors, 'script')}
          onChange={(script) => change({ script })}
        />
        <AsText method={method} path={to} body={body} resource={{ kind: 'snippet', name: body.name }} />
      </Form>
    </>
  );
}
