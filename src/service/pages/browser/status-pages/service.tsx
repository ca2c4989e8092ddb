import { get } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { go } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import type { PageProps } from '../base/page.ts';
import { Button } from '../parts/button.tsx';
import { ChecksField } from '../parts/check-search.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { TextField } from '../parts/form/inputs.tsx';
import type { Service } from './pages.ts';
import { PageHead } from '../parts/page-head.tsx';
import { DeleteButton, removeEntry } from '../parts/removal.tsx';

/** A new service, or one that is changed or deleted. */

export function Page({ params }: PageProps) {
  const id = params['id'];
  const stored = useLoad(id ?? 'new', (signal) =>
    id === undefined
      ? Promise.resolve(null)
      : get<Service>(`/v1/status-pages/services/${encodeURIComponent(id)}`, signal),
  );
  return (
    <Shown of={stored} what="the service">
      {(service) => <ServiceForm key={id ?? 'new'} stored={service} />}
    </Shown>
  );
}

function ServiceForm({ stored }: { stored: Service | null }) {
  const mayWrite = useMay('READ_WRITE');
  const form = useForm({ name: stored?.name ?? '', checkIds: stored?.checkIds ?? [] });
  const { body, change, errors } = form;
  const method = stored === null ? 'POST' : 'PUT';
  const path = stored === null ? '/v1/status-pages/services' : `/v1/status-pages/services/${stored.id}`;
  const save = async () => {
    if ((await form.save(method, path)) === undefined) return;
    sayDone(`Saved: ${body.name}`);
    go('/services');
  };
  const remove = async () => {
    const text = 'Pages and incidents no longer show it.';
    if (await removeEntry({ path, name: `the service ${body.name}`, text })) go('/services');
  };
  return (
    <>
      <PageHead
        trail={[{ href: '/services', title: 'Services' }]}
        title={stored === null ? 'New service' : stored.name}
      >
        {stored !== null && mayWrite && (
          <div class="buttons">
            <DeleteButton onClick={() => void remove()} />
          </div>
        )}
      </PageHead>
      <Form
        isReadOnly={!mayWrite}
        message={form.message}
        onSubmit={() => void save()}
        buttons={
          mayWrite && (
            <Button type="submit" class="main" isOff={form.isBusy}>
              {stored === null ? 'Create service' : 'Save'}
            </Button>
          )
        }
      >
        <section class="card">
          <TextField
            label="Name"
            required
            value={body.name}
            error={errorAt(errors, 'name')}
            onChange={(name) => change({ name })}
          />
          <ChecksField
            label="Checks"
            hint="The service shows as degraded or down by them, without an incident; their runs make its uptime."
            value={body.checkIds}
            error={errorAt(errors, 'checkIds')}
            onChange={(checkIds) => change({ checkIds })}
          />
        </section>
        {mayWrite && (
          <AsText
            method={method}
            path={path}
            body={body}
            resource={{ kind: 'status-page-service', name: body.name }}
          />
        )}
      </Form>
    </>
  );
}
