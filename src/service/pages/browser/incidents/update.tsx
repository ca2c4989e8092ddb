import { useState } from 'preact/hooks';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { AreaField, ChoiceField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { removeEntry } from '../parts/removal.tsx';
import { Moment } from '../parts/time.tsx';
import { choicesOf, paths, statuses, wordOf, type Incident, type Update } from './incidents.ts';

/** One update of an incident, which can be changed, and deleted if it is not the only one. */
export function OneUpdate({
  update,
  incident,
  path,
  reload,
}: {
  update: Update;
  incident: Incident;
  /** Of the incident. */
  path: string;
  reload: () => void;
}) {
  const mayWrite = useMay('READ_WRITE');
  const [isEdited, setEdited] = useState(false);
  const own = `${path}/${paths[incident.kind].updates}/${update.id}`;
  const remove = async () => {
    const text = 'Status pages no longer show it. Mails that were sent stay sent.';
    if (await removeEntry({ path: own, name: 'this update', text })) reload();
  };
  return (
    <li>
      <strong>{wordOf(update.status)}</strong>{' '}
      <span class="soft">
        <Moment at={update.created_at} />
      </span>
      {isEdited ? (
        <Editor
          update={update}
          kind={incident.kind}
          path={own}
          onEnd={(isSaved) => {
            setEdited(false);
            if (isSaved) reload();
          }}
        />
      ) : (
        <>
          <p>{update.description}</p>
          {mayWrite && (
            <div class="buttons">
              <button type="button" class="plain" onClick={() => setEdited(true)}>
                Change update
              </button>
              {incident.updates.length > 1 && (
                <button type="button" class="plain" onClick={() => void remove()}>
                  Delete update
                </button>
              )}
            </div>
          )}
        </>
      )}
    </li>
  );
}

function Editor({
  update: { status, description },
  kind,
  path,
  onEnd,
}: {
  update: Update;
  kind: Incident['kind'];
  path: string;
  onEnd: (isSaved: boolean) => void;
}) {
  const form = useForm({ status, description });
  const { body, change, errors } = form;
  const save = async () => {
    if ((await form.save('PUT', path)) === undefined) return;
    sayDone('The update was changed.');
    onEnd(true);
  };
  return (
    <Form
      message={form.message}
      onSubmit={() => void save()}
      buttons={
        <>
          <Button type="submit" class="main" isOff={form.isBusy}>
            Save update
          </Button>
          <button type="button" onClick={() => onEnd(false)}>
            Cancel
          </button>
        </>
      }
    >
      <ChoiceField
        label="Status of this update"
        value={body.status}
        choices={choicesOf(statuses[kind])}
        error={errorAt(errors, 'status')}
        onChange={(value) => change({ status: value })}
      />
      <AreaField
        label="Text of this update"
        required
        value={body.description}
        error={errorAt(errors, 'description')}
        onChange={(value) => change({ description: value })}
      />
      <AsText method="PUT" path={path} body={body} />
    </Form>
  );
}
