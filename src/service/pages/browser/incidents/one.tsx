import { useReloadOn } from '../base/live.ts';
import { useLoad } from '../base/load.ts';
import { go, usePlace } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import type { PageProps } from '../base/page.ts';
import { Button } from '../parts/button.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Moment } from '../parts/time.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AreaField, ChoiceField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { OneUpdate } from './update.tsx';
import {
  choicesOf,
  isOpen,
  paths,
  readIncident,
  severities,
  statuses,
  wordOf,
  type Incident,
  type Kind,
} from './incidents.ts';
import { PageHead } from '../parts/page-head.tsx';
import { DeleteButton, removeEntry } from '../parts/removal.tsx';

/** One incident: its updates, a new update, its name and severity. */

export function Page({ params }: PageProps) {
  const { query } = usePlace();
  const kind: Kind = query.get('kind') === 'page' ? 'page' : 'services';
  const id = params['id'] ?? '';
  const loaded = useLoad(`${kind} ${id}`, (signal) => readIncident(kind, id, signal));
  useReloadOn(['incident', 'service'], loaded.reload);
  return (
    <Shown of={loaded} what="the incident">
      {(incident) => <IncidentView incident={incident} reload={loaded.reload} />}
    </Shown>
  );
}

function IncidentView({ incident, reload }: { incident: Incident; reload: () => void }) {
  const mayWrite = useMay('READ_WRITE');
  const path = `${paths[incident.kind].list}/${incident.id}`;
  const remove = async () => {
    const text = 'Its updates are deleted, and status pages no longer show it.';
    if (await removeEntry({ path, name: `the incident ${incident.name}`, text })) go('/incidents');
  };
  return (
    <>
      <PageHead trail={[{ href: '/incidents', title: 'Incidents' }]} title={incident.name}>
        <Status
          status={isOpen(incident) ? 'failing' : 'passing'}
          word={wordOf(incident.status || (isOpen(incident) ? 'OPEN' : 'RESOLVED'))}
        />
        {mayWrite && (
          <div class="buttons">
            <DeleteButton onClick={() => void remove()} />
          </div>
        )}
      </PageHead>
      <section class="card">
        <dl class="facts">
          <dt>Severity</dt>
          <dd>{wordOf(incident.severity)}</dd>
          <dt>Since</dt>
          <dd>
            <Moment at={incident.from} />
          </dd>
          <dt>Resolved</dt>
          <dd>
            <Moment at={incident.to} />
          </dd>
          <dt>Affects</dt>
          <dd>
            {incident.kind === 'page'
              ? 'a whole status page'
              : incident.services.map(({ name }) => name).join(', ') || 'no services'}
          </dd>
        </dl>
      </section>
      <section class="card">
        <h2>Updates</h2>
        <ol class="timeline-updates">
          {[...incident.updates].reverse().map((update) => (
            <OneUpdate key={update.id} update={update} incident={incident} path={path} reload={reload} />
          ))}
        </ol>
      </section>
      {mayWrite && (
        <>
          <UpdateForm incident={incident} path={path} reload={reload} />
          <ChangeForm incident={incident} path={path} reload={reload} />
        </>
      )}
    </>
  );
}

type Part = { incident: Incident; path: string; reload: () => void };

function UpdateForm({ incident, path, reload }: Part) {
  const form = useForm({
    status: incident.status || 'INVESTIGATING',
    description: '',
    notifySubscribers: false,
  });
  const { body, change, errors } = form;
  const to = `${path}/${paths[incident.kind].updates}`;
  const save = async (status = body.status) => {
    if ((await form.save('POST', to, { ...body, status })) === undefined) return;
    sayDone('The update is published.');
    form.reset({ status, description: '', notifySubscribers: false });
    reload();
  };
  return (
    <section class="card">
      <h2>New update</h2>
      <Form
        message={form.message}
        onSubmit={() => void save()}
        buttons={
          <>
            <Button type="submit" class="main" isOff={form.isBusy}>
              Publish update
            </Button>
            {isOpen(incident) && (
              <Button isOff={form.isBusy} onClick={() => void save('RESOLVED')}>
                Publish and resolve
              </Button>
            )}
          </>
        }
      >
        <ChoiceField
          label="Status"
          value={body.status}
          choices={choicesOf(statuses[incident.kind])}
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
        <AsText method="POST" path={to} body={body} />
      </Form>
    </section>
  );
}

function ChangeForm({ incident, path, reload }: Part) {
  const form = useForm({ name: incident.name, severity: incident.severity });
  const { body, change, errors } = form;
  const save = async () => {
    if ((await form.save('PUT', path)) === undefined) return;
    sayDone('Saved.');
    reload();
  };
  return (
    <section class="card">
      <h2>Name and severity</h2>
      <Form
        message={form.message}
        onSubmit={() => void save()}
        buttons={
          <Button type="submit" isOff={form.isBusy || !form.isChanged}>
            Save
          </Button>
        }
      >
        <TextField
          label="Name"
          required
          value={body.name}
          error={errorAt(errors, 'name')}
          onChange={(name) => change({ name })}
        />
        <ChoiceField
          label="Severity"
          value={body.severity}
          choices={choicesOf(severities[incident.kind])}
          error={errorAt(errors, 'severity')}
          onChange={(severity) => change({ severity })}
        />
        <AsText method="PUT" path={path} body={body} />
      </Form>
    </section>
  );
}
