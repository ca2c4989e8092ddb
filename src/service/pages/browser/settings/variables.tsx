import { useState } from 'preact/hooks';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { AreaField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Empty } from '../parts/notice.tsx';
import { EntryList, useEntries } from './entries.tsx';
import { ActionsHead, removeEntry, RowButtons } from '../parts/removal.tsx';
import type { Variable } from './types.ts';

/** Variables of the account. Values of secrets are written and never shown. */

const path = '/v1/variables';
const pathOf = (key: string) => `${path}/${encodeURIComponent(key)}`;

export function Variables() {
  const loaded = useEntries<Variable>(path);
  const mayWrite = useMay('READ_WRITE');
  const [edited, setEdited] = useState<Variable | 'new' | null>(null);
  const remove = async ({ key }: Variable) => {
    const text = 'Runs that need it will fail.';
    if (await removeEntry({ path: pathOf(key), name: `the variable ${key}`, text })) loaded.reload();
  };
  return (
    <>
      <div class="line tab-head">
        <p class="soft">
          Every run gets these variables, unless its group or check has one with the same name.
        </p>
        {mayWrite && (
          <button type="button" class="main" onClick={() => setEdited('new')}>
            New variable
          </button>
        )}
      </div>
      <EntryList of={loaded} what="variables">
        {(variables) =>
          variables.length === 0 ? (
            <div class="card">
              <Empty title="No variables yet">
                Use one in requests as {'{{NAME}}'}, and in scripts as an environment variable.
              </Empty>
            </div>
          ) : (
            <div class="card flush">
              <table class="stacked" aria-label="Variables and secrets">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Value</th>
                    <th scope="col">Kind</th>
                    {mayWrite && <ActionsHead />}
                  </tr>
                </thead>
                <tbody>
                  {variables.map((variable) => (
                    <tr key={variable.key}>
                      <td data-title="Name">
                        <code>{variable.key}</code>
                      </td>
                      <td data-title="Value">
                        <Value of={variable} mayWrite={mayWrite} />
                      </td>
                      <td data-title="Kind">
                        {[variable.secret ? 'secret' : 'plain', ...(variable.locked ? ['locked'] : [])].join(
                          ', ',
                        )}
                      </td>
                      {mayWrite && (
                        <td>
                          <RowButtons
                            name={variable.key}
                            onChange={() => setEdited(variable)}
                            onDelete={() => void remove(variable)}
                          />
                        </td>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </EntryList>
      {edited !== null && (
        <VariableDialog
          variable={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={() => {
            setEdited(null);
            sayDone('Saved the variable');
            loaded.reload();
          }}
        />
      )}
    </>
  );
}

function Value({ of, mayWrite }: { of: Variable; mayWrite: boolean }) {
  if (of.secret) return <span class="soft">never shown</span>;
  if (of.locked && !mayWrite) return <span class="soft">hidden: the variable is locked</span>;
  const short = of.value.length > 200 ? `${of.value.slice(0, 200)} …` : of.value;
  return <code class="long">{short}</code>;
}

function VariableDialog({
  variable,
  onClose,
  onSaved,
}: {
  variable: Variable | null;
  onClose: () => void;
  onSaved: () => void;
}) {
  const form = useForm<Pick<Variable, 'key' | 'value' | 'locked' | 'secret'>>(
    variable === null
      ? { key: '', value: '', locked: false, secret: false }
      : { key: variable.key, value: variable.value, locked: variable.locked, secret: variable.secret },
  );
  const { body, change, errors } = form;
  const [method, to] =
    variable === null ? (['POST', path] as const) : (['PUT', pathOf(variable.key)] as const);
  const wasSecret = variable?.secret === true;
  const submit = async () => {
    if ((await form.save(method, to)) !== undefined) onSaved();
  };
  const valueField = {
    label: 'Value',
    value: body.value,
    error: errorAt(errors, 'value'),
    onChange: (value: string) => change({ value }),
  };
  return (
    <Dialog title={variable === null ? 'New variable' : `Change ${variable.key}`} onClose={onClose}>
      <Form
        message={form.message}
        onSubmit={() => void submit()}
        buttons={
          <Button type="submit" class="main" isOff={form.isBusy}>
            {variable === null ? 'Create variable' : 'Save'}
          </Button>
        }
      >
        {variable === null && (
          <TextField
            label="Name"
            required
            placeholder="SHOP_TOKEN"
            value={body.key}
            error={errorAt(errors, 'key')}
            onChange={(key) => change({ key })}
          />
        )}
        {body.secret ? (
          <TextField
            {...valueField}
            type="password"
            hint={
              wasSecret ? 'The value is never shown. Empty: it stays as it is.' : 'It is never shown again.'
            }
          />
        ) : (
          <AreaField {...valueField} rows={3} />
        )}
        <SwitchField
          label="Secret"
          hint="Write-only, and masked in results and logs. A secret cannot become plain again."
          disabled={wasSecret}
          value={body.secret}
          error={errorAt(errors, 'secret')}
          onChange={(secret) => change({ secret })}
        />
        <SwitchField
          label="Locked"
          hint="Keys that may not write do not see the value."
          value={body.locked}
          error={errorAt(errors, 'locked')}
          onChange={(locked) => change({ locked })}
        />
        <AsText method={method} path={to} body={body} resource={{ kind: 'variable', name: body.key }} />
      </Form>
    </Dialog>
  );
}
