import { get } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { go } from '../base/router.ts';
import { Button } from '../parts/button.tsx';
import { sayDone } from '../parts/messages.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AreaField, ChoiceField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { ManyField } from '../parts/form/lists.tsx';
import { choicesOf, paths, severities, statuses, type Kind } from './incidents.ts';
import { PageHead } from '../parts/page-head.tsx';

/** A new incident, of services or of a whole status page. */

type Named = { readonly id: string; readonly name: string };
const all = async (path: string, signal: AbortSignal) =>
  (await get<{ entries: Named[] }>(`${path}?paginated=false`, signal)).entries;

export function Page() {
  const services = useLoad('services', (signal) => all('/v1/status-pages/services', signal));
  const pages = useLoad('pages', (signal) => all('/v1/status-pages', signal));
  const form = useForm({
    kind: 'services' as Kind,
    name: '',
    severity: 'MAJOR',
    serviceIds: [] as string[],
    pageId: '',
    status: 'INVESTIGATING',
    description: '',
    notifySubscribers: false,
  });
  const { body, change, errors } = form;
  const { kind, name, severity, status, description, notifySubscribers } = body;
  const sent = {
    name,
    severity,
    ...(kind === 'services'
      ? { services: body.serviceIds.map((id) => ({ id })) }
      : { dashboardId: body.pageId || (pages.value?.[0]?.id ?? '') }),
    incidentUpdates: [{ status, description, notifySubscribers }],
  };
  const path = paths[kind].list;
  const save = async () => {
    const answer = (await form.save('POST', path, sent)) as { id: string } | undefined;
    if (answer === undefined) return;
    sayDone(`The incident is open: ${name}`);
    go(`/incidents/${answer.id}${kind === 'page' ? '?kind=page' : ''}`);
  };
  return (
    <>
      <PageHead trail={[{ href: '/incidents', title: 'Incidents' }]} title="New incident" />
      <Form
        message={form.message}
        onSubmit={() => void save()}
        buttons={
          <Button type="submit" class="main" isOff={form.isBusy}>
            Open incident
          </Button>
        }
      >
        <section class="card">
          <ChoiceField
            label="Concerns"
            value={kind}
            choices={[
              { value: 'services', title: 'Services, on every page that shows them' },
              { value: 'page', title: 'A whole status page' },
            ]}
            onChange={(value) => change({ kind: value, severity: 'MAJOR', status: 'INVESTIGATING' })}
          />
          <TextField
            label="Name"
            required
            value={name}
            error={errorAt(errors, 'name')}
            onChange={(value) => change({ name: value })}
          />
          <ChoiceField
            label="Severity"
            value={severity}
            choices={choicesOf(severities[kind])}
            error={errorAt(errors, 'severity')}
            onChange={(value) => change({ severity: value })}
          />
          {kind === 'services' ? (
            <ManyField
              label="Affected services"
              value={body.serviceIds}
              error={errorAt(errors, 'services')}
              choices={(services.value ?? []).map((one) => ({ value: one.id, title: one.name }))}
              onChange={(serviceIds) => change({ serviceIds })}
            />
          ) : (
            <ChoiceField
              label="Status page"
              value={body.pageId || (pages.value?.[0]?.id ?? '')}
              error={errorAt(errors, 'dashboardId')}
              choices={(pages.value ?? []).map((one) => ({ value: one.id, title: one.name }))}
              onChange={(pageId) => change({ pageId })}
            />
          )}
        </section>
        <section class="card">
          <h2>First update</h2>
          <ChoiceField
            label="Status"
            value={status}
            choices={choicesOf(statuses[kind])}
            error={errorAt(errors, 'incidentUpdates.0.status')}
            onChange={(value) => change({ status: value })}
          />
          <AreaField
            label="Text"
            required
            value={description}
            error={errorAt(errors, 'incidentUpdates.0.description')}
            onChange={(value) => change({ description: value })}
          />
          <SwitchField
            label="Tell subscribers by mail"
            value={notifySubscribers}
            onChange={(value) => change({ notifySubscribers: value })}
          />
        </section>
        <AsText method="POST" path={path} body={sent} />
      </Form>
    </>
  );
}
