import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { ChoiceField, TextField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Ago, Moment } from '../parts/time.tsx';
import { EntryList, useEntries } from './entries.tsx';
import { ActionsHead, removeEntry, RowButtons } from '../parts/removal.tsx';
import type { ApiKey } from './types.ts';

/** API keys of the account. */

const path = '/v1/api-keys';
const roles = [
  { value: 'READ_ONLY', title: 'Reader: sees everything, changes nothing' },
  { value: 'READ_RUN', title: 'Runner: may also run checks now' },
  { value: 'READ_WRITE', title: 'Writer: may also change checks, alerts and status pages' },
  { value: 'ADMIN', title: 'Administrator: may also change keys, locations and the account' },
] as const;
const roleWords = { READ_ONLY: 'Reader', READ_RUN: 'Runner', READ_WRITE: 'Writer', ADMIN: 'Administrator' };

export function ApiKeys() {
  const loaded = useEntries<ApiKey>(path);
  const [edited, setEdited] = useState<ApiKey | 'new' | null>(null);
  const [rawKey, setRawKey] = useState<string | null>(null);
  const remove = async (key: ApiKey) => {
    const text = 'Programs that use it are refused, and sessions that began with it end.';
    if (await removeEntry({ path: `${path}/${key.id}`, name: `the key ${key.name}`, text })) loaded.reload();
  };
  return (
    <>
      {rawKey !== null && (
        <section class="card once" aria-labelledby="new-key">
          <h2 id="new-key">The new API key</h2>
          <p class="note warn">Copy it now: it is shown this once, and the service keeps only its hash.</p>
          <Copy text={rawKey} label="New API key" isSecret />
          <button type="button" onClick={() => setRawKey(null)}>
            I have stored it
          </button>
        </section>
      )}
      <div class="line tab-head">
        <p class="soft">People sign in with a key, and programs send it with each request.</p>
        <button type="button" class="main" onClick={() => setEdited('new')}>
          New API key
        </button>
      </div>
      <EntryList of={loaded} what="API keys">
        {(keys) => (
          <div class="card flush">
            <table class="stacked" aria-label="API keys">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Role</th>
                  <th scope="col">Key</th>
                  <th scope="col">Last used</th>
                  <th scope="col">Expires</th>
                  <ActionsHead />
                </tr>
              </thead>
              <tbody>
                {keys.map((key) => (
                  <tr key={key.id}>
                    <td data-title="Name">{key.name}</td>
                    <td data-title="Role">{roleWords[key.role]}</td>
                    <td data-title="Key">
                      <code>{key.maskedKey}</code>
                    </td>
                    <td data-title="Last used">
                      <Ago at={key.lastUsedAt} />
                    </td>
                    <td data-title="Expires">
                      {key.expiresAt === null ? 'never' : <Moment at={key.expiresAt} />}
                    </td>
                    <td>
                      <RowButtons
                        name={key.name}
                        onChange={() => setEdited(key)}
                        onDelete={() => void remove(key)}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </EntryList>
      {edited !== null && (
        <KeyDialog
          apiKey={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={(raw) => {
            setEdited(null);
            if (raw !== undefined) setRawKey(raw);
            else sayDone('Saved the key');
            loaded.reload();
          }}
        />
      )}
    </>
  );
}

/** The value of a datetime-local field, in the reader's time zone. */
const localTime = (iso: string | null) => {
  if (iso === null) return '';
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

function KeyDialog({
  apiKey,
  onClose,
  onSaved,
}: {
  apiKey: ApiKey | null;
  onClose: () => void;
  onSaved: (rawKey: string | undefined) => void;
}) {
  const form = useForm<Pick<ApiKey, 'name' | 'role' | 'expiresAt'>>(
    apiKey === null
      ? { name: '', role: 'READ_ONLY', expiresAt: null }
      : { name: apiKey.name, role: apiKey.role, expiresAt: apiKey.expiresAt },
  );
  const { body, change, errors } = form;
  const [method, to] =
    apiKey === null ? (['POST', path] as const) : (['PUT', `${path}/${apiKey.id}`] as const);
  const submit = async () => {
    const saved = (await form.save(method, to)) as { rawKey?: string } | undefined; // the answer of both routes
    if (saved !== undefined) onSaved(saved.rawKey);
  };
  return (
    <Dialog title={apiKey === null ? 'New API key' : `Change ${apiKey.name}`} onClose={onClose}>
      <Form
        message={form.message}
        onSubmit={() => void submit()}
        buttons={
          <Button type="submit" class="main" isOff={form.isBusy}>
            {apiKey === null ? 'Create key' : 'Save'}
          </Button>
        }
      >
        <TextField
          label="Name"
          required
          hint="Who or what uses the key."
          value={body.name}
          error={errorAt(errors, 'name')}
          onChange={(name) => change({ name })}
        />
        <ChoiceField
          label="Role"
          value={body.role}
          choices={roles}
          error={errorAt(errors, 'role')}
          onChange={(role) => change({ role })}
        />
        <TextField
          label="Expires"
          type="datetime-local"
          hint="Empty: it does not expire."
          value={localTime(body.expiresAt)}
          error={errorAt(errors, 'expiresAt')}
          onChange={(text) => change({ expiresAt: text === '' ? null : new Date(text).toISOString() })}
        />
        <AsText method={method} path={to} body={body} />
      </Form>
    </Dialog>
  );
}
