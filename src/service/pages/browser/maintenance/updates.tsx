import { useState } from 'preact/hooks';
import { useMay } from '../base/user.ts';
import { Button } from '../parts/button.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { AreaField, ChoiceField, SwitchField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { removeEntry } from '../parts/removal.tsx';
import { Moment } from '../parts/time.tsx';
import { isOver, occurrenceWords, type Occurrence, type Update } from './windows.ts';

/** The updates of an occurrence: write, change and delete them. */

type Part = { occurrence: Occurrence; path: string; reload: () => void };

export function OccurrenceUpdates({ occurrence, path, reload }: Part) {
  const mayWrite = useMay('READ_WRITE');
  return (
    <>
      {occurrence.updates.length > 0 && (
        <ol class="timeline-updates">
          {[...occurrence.updates].reverse().map((update) => (
            <OneUpdate
              key={update.id}
              update={update}
              path={`${path}/updates/${update.id}`}
              reload={reload}
            />
          ))}
        </ol>
      )}
      {mayWrite && <NewUpdate occurrence={occurrence} path={path} reload={reload} />}
    </>
  );
}

/** Statuses that an update may give while the occurrence is not over; an occurrence is cancelled by its own button. */
const steps = ['SCHEDULED', 'IN_PROGRESS', 'VERIFYING', 'COMPLETED'] as const;

function NewUpdate({ occurrence, path, reload }: Part) {
  const [isOpen, setOpen] = useState(false);
  const form = useForm({ status: occurrence.status, description: '', notifySubscribers: false });
  const { body, change, errors } = form;
  const save = async () => {
    if ((await form.save('POST', `${path}/updates`)) === undefined) return;
    sayDone('The update is published.');
    form.reset({ status: body.status, description: '', notifySubscribers: false });
    setOpen(false);
    reload();
  };
  if (!isOpen)
    return (
      <button type="button" onClick={() => setOpen(true)}>
        Write an update
      </button>
    );
  return (
    <Form
      message={form.message}
      onSubmit={() => void save()}
      buttons={
        <>
          <Button type="submit" class="main" isOff={form.isBusy}>
            Publish update
          </Button>
          <button
            type="button"
            onClick={() => {
              form.reset({ status: occurrence.status, description: '', notifySubscribers: false });
              setOpen(false);
            }}
          >
            Discard
          </button>
        </>
      }
    >
      <ChoiceField
        label="Status"
        value={body.status}
        choices={(isOver(occurrence.status) ? [occurrence.status] : steps).map((value) => ({
          value,
          title: occurrenceWords[value],
        }))}
        error={errorAt(errors, 'status')}
        onChange={(status) => change({ status })}
      />
      <AreaField
        label="Text"
        required
        value={body.description}
        error={errorAt(errors, 'description')}
        onChange={(description) => change({ description })}
      />
      <SwitchField
        label="Tell subscribers by mail"
        value={body.notifySubscribers}
        onChange={(notifySubscribers) => change({ notifySubscribers })}
      />
    </Form>
  );
}

function OneUpdate({ update, path, reload }: { update: Update; path: string; reload: () => void }) {
  const mayWrite = useMay('READ_WRITE');
  const [isEdited, setEdited] = useState(false);
  const remove = async () => {
    const text = 'Status pages no longer show it. The status of the occurrence stays as it is.';
    if (await removeEntry({ path, name: 'this update', text })) reload();
  };
  return (
    <li>
      <strong>{occurrenceWords[update.status]}</strong>{' '}
      <span class="soft">
        <Moment at={update.created_at} />
      </span>
      {isEdited ? (
        <Editor
          update={update}
          path={path}
          onEnd={(isSaved) => {
            setEdited(false);
            if (isSaved) reload();
          }}
        />
      ) : (
        <>
          <p class="break">{update.description}</p>
          {mayWrite && (
            <div class="buttons">
              <button type="button" class="plain" onClick={() => setEdited(true)}>
                Change update
              </button>
              <button type="button" class="plain" onClick={() => void remove()}>
                Delete update
              </button>
            </div>
          )}
        </>
      )}
    </li>
  );
}

function Editor({
  update,
  path,
  onEnd,
}: {
  update: Update;
  path: string;
  onEnd: (isSaved: boolean) => void;
}) {
  const form = useForm({ description: update.description });
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
      <AreaField
        label="Text of this update"
        required
        value={form.body.description}
        error={errorAt(form.errors, 'description')}
        onChange={(description) => form.change({ description })}
      />
    </Form>
  );
}
