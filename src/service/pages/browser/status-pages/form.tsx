import { get } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { go } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import type { PageProps } from '../base/page.ts';
import { Button } from '../parts/button.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { AreaField, ChoiceField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { ManyField, Rows } from '../parts/form/lists.tsx';
import { Beside } from './beside.tsx';
import { ColorFields } from './colors.tsx';
import { all, type Card, type PageBody, type Service, type StatusPage } from './pages.ts';
import { PageHead } from '../parts/page-head.tsx';
import { DeleteButton, removeEntry } from '../parts/removal.tsx';

/** A new status page, or one that is changed, with its preview, its badge and its subscribers. */

export function Page({ params }: PageProps) {
  const id = params['id'];
  const stored = useLoad(id ?? 'new', (signal) =>
    id === undefined
      ? Promise.resolve(null)
      : get<StatusPage>(`/v1/status-pages/${encodeURIComponent(id)}`, signal),
  );
  return (
    <Shown of={stored} what="the status page">
      {(page) => <PageForm key={id ?? 'new'} stored={page} reload={stored.reload} />}
    </Shown>
  );
}

function initial(stored: StatusPage | null): PageBody {
  return {
    name: stored?.name ?? '',
    url: stored?.url ?? '',
    title: stored?.title ?? null,
    description: stored?.description ?? null,
    customDomain: stored?.customDomain ?? null,
    defaultTheme: stored?.defaultTheme ?? 'AUTO',
    logo: stored?.logo ?? null,
    favicon: stored?.favicon ?? null,
    redirectTo: stored?.redirectTo ?? null,
    isPrivate: stored?.isPrivate ?? false,
    colors: stored?.colors ?? null,
    cards: stored?.cards ?? [],
  };
}

function PageForm({ stored, reload }: { stored: StatusPage | null; reload: () => void }) {
  const mayWrite = useMay('READ_WRITE');
  const form = useForm<PageBody>(initial(stored));
  const { body, change, errors } = form;
  const services = useLoad('services', (signal) => all<Service>('/v1/status-pages/services', signal));
  const method = stored === null ? 'POST' : 'PUT';
  const path = stored === null ? '/v1/status-pages' : `/v1/status-pages/${stored.id}`;
  const save = async () => {
    const answer = (await form.save(method, path)) as StatusPage | undefined;
    if (answer === undefined) return;
    sayDone(`Saved: ${body.name}`);
    if (stored === null) go(`/status-pages/${answer.id}`);
    else reload();
  };
  const remove = async () => {
    const text = 'Its subscribers and the incidents of the whole page are deleted too.';
    if (await removeEntry({ path, name: `the status page ${body.name}`, text })) go('/status-pages');
  };
  const text = (
    name: 'title' | 'customDomain' | 'logo' | 'favicon' | 'redirectTo',
    label: string,
    hint: string,
  ) => (
    <TextField
      label={label}
      hint={hint}
      value={body[name] ?? ''}
      error={errorAt(errors, name)}
      onChange={(value) => change({ [name]: value === '' ? null : value })}
    />
  );
  return (
    <>
      <PageHead
        trail={[{ href: '/status-pages', title: 'Status pages' }]}
        title={stored === null ? 'New status page' : stored.name}
      >
        {stored !== null && (
          <div class="buttons">
            <a class="button" href={`/status/${stored.url}`} target="_blank" rel="noreferrer">
              Open
            </a>
            {mayWrite && <DeleteButton onClick={() => void remove()} />}
          </div>
        )}
      </PageHead>
      <div class="with-preview">
        <Form
          isReadOnly={!mayWrite}
          message={form.message}
          onSubmit={() => void save()}
          buttons={
            mayWrite && (
              <Button type="submit" class="main" isOff={form.isBusy}>
                {stored === null ? 'Create status page' : 'Save'}
              </Button>
            )
          }
        >
          <section class="card">
            <h2>Page</h2>
            <TextField
              label="Name"
              required
              value={body.name}
              error={errorAt(errors, 'name')}
              onChange={(name) => change({ name })}
            />
            <TextField
              label="Address"
              required
              hint={`${location.origin}/status/${body.url || '…'}`}
              value={body.url}
              error={errorAt(errors, 'url')}
              onChange={(url) => change({ url })}
            />
            {text('title', 'Title', 'The heading; empty: the name.')}
            <AreaField
              label="Description"
              value={body.description ?? ''}
              error={errorAt(errors, 'description')}
              onChange={(value) => change({ description: value === '' ? null : value })}
            />
            {text('customDomain', 'Own domain', 'Like status.example.com, which must lead to this service.')}
            <SwitchField
              label="Private"
              hint="Readers must have an API key of this account."
              value={body.isPrivate}
              onChange={(isPrivate) => change({ isPrivate })}
            />
          </section>
          <section class="card">
            <h2>Services</h2>
            <p class="soft">
              Cards group <a href="/services">services</a> on the page.
            </p>
            <Rows<Card>
              label="Cards"
              one="card"
              value={body.cards}
              error={errorAt(errors, 'cards')}
              empty={() => ({ name: '', services: [] })}
              onChange={(cards) => change({ cards })}
            >
              {(card, set, at) => (
                <div class="card-fields">
                  <TextField
                    label={`Name of card ${at + 1}`}
                    value={card.name}
                    onChange={(name) => set({ ...card, name })}
                  />
                  <ManyField
                    label={`Services of card ${at + 1}`}
                    value={card.services.map(({ serviceId }) => serviceId)}
                    choices={(services.value ?? []).map(({ id, name }) => ({ value: id, title: name }))}
                    onChange={(ids) => set({ ...card, services: ids.map((serviceId) => ({ serviceId })) })}
                  />
                </div>
              )}
            </Rows>
          </section>
          <section class="card">
            <h2>Look</h2>
            <ChoiceField
              label="Theme"
              value={body.defaultTheme}
              choices={[
                { value: 'AUTO', title: 'As the reader has it' },
                { value: 'LIGHT', title: 'Light' },
                { value: 'DARK', title: 'Dark' },
              ]}
              onChange={(defaultTheme) => change({ defaultTheme })}
            />
            {text('logo', 'Logo', 'URL of an image')}
            {text('favicon', 'Icon', 'URL of the image in the tab of the browser')}
            {text('redirectTo', 'Link of the heading', 'Empty: the page itself')}
            <ColorFields value={body.colors} errors={errors} onChange={(colors) => change({ colors })} />
          </section>
          {mayWrite && (
            <AsText
              method={method}
              path={path}
              body={body}
              resource={{ kind: 'status-page', name: body.url }}
            />
          )}
        </Form>
        <Beside stored={stored} body={body} />
      </div>
    </>
  );
}
