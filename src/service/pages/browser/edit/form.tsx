import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { go } from '../base/router.ts';
import { Button } from '../parts/button.tsx';
import { errorAt, type FieldErrors } from '../parts/form/field.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { sayDone } from '../parts/messages.tsx';
import type { Choices } from './choices.ts';
import { Fields, type FieldContext } from './field.tsx';
import type { Body, Row, Section } from './fields/row.ts';
import { rowsOf, type CheckForm } from './fields/types.ts';
import { TestRun } from './test-run.tsx';
import { changesOf, withoutDefaults, withValue } from './values.ts';

/** The form of one check, with its test run. */
export function CheckEditor({
  form,
  initial,
  id,
  choices,
}: {
  form: CheckForm;
  initial: Body;
  /** Of the check that is edited; null = a new one. */
  id: string | null;
  choices: Choices;
}) {
  const state = useForm<Body>(initial);
  const [tried, setTried] = useState<{ errors: FieldErrors; message: string | null }>({
    errors: {},
    message: null,
  });
  const errors = { ...tried.errors, ...state.errors };
  const { body } = state;
  const set = (path: string, value: unknown) => {
    const [top = ''] = path.split('.');
    state.change({
      [top]: withValue(body, path, value)[top],
      ...(path === 'frequency' ? offsetFor(value) : {}),
    });
  };
  const context: FieldContext = { body, errors, choices, set };
  const short = withoutDefaults(form, body);
  const sent = id === null ? short : changesOf(initial, body, rowsOf(form));
  const method = id === null ? 'POST' : 'PUT';
  const path =
    id === null ? `/v1/checks/${form.path}?autoAssignAlerts=false` : `/v1/checks/${form.path}/${id}`;
  const save = async () => {
    setTried({ errors: {}, message: null });
    const answer = (await state.save(method, path, sent)) as { id?: string } | undefined; // a check
    if (answer === undefined) return;
    sayDone(id === null ? 'The check was created.' : 'The check was saved.');
    go(`/checks/${answer.id ?? id ?? ''}`);
  };
  const onErrors = (found: FieldErrors, message: string | null) => {
    setTried({ errors: found, message });
    if (message !== null)
      requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  return (
    <div class="edit">
      <Form
        message={messageOf(state.message ?? tried.message, errors, rowsOf(form))}
        onSubmit={() => void save()}
        buttons={
          <>
            <Button type="submit" class="main" isOff={state.isBusy}>
              {id === null ? 'Create the check' : 'Save'}
            </Button>
            <a class="button" href={id === null ? '/' : `/checks/${id}`}>
              Cancel
            </a>
          </>
        }
      >
        {form.sections.map((section) => (
          <FormSection key={section.title} section={section} context={context} />
        ))}
        <AsText
          method={method}
          path={path}
          body={id === null ? short : body}
          resource={{ kind: 'check', name: nameIn(body), content: { checkType: form.type, ...short } }}
        />
      </Form>
      {form.isRun && (
        <aside>
          <TestRun form={form} id={id} body={short} onErrors={onErrors} />
        </aside>
      )}
    </div>
  );
}

/** The offset belongs to the frequency: seconds with 0, otherwise chosen by the service. */
const offsetFor = (frequency: unknown): Body => ({ frequencyOffset: frequency === 0 ? 10 : undefined });

/** The name in the body of a check or group. */
export const nameIn = ({ name }: Body): string => (typeof name === 'string' ? name : '');

/** The message above the form, with errors that belong to no field of it. */
export function messageOf(
  message: string | null,
  errors: FieldErrors,
  rows: readonly Pick<Row, 'path'>[],
): string | null {
  if (message === null) return null;
  const others = Object.entries(errors).filter(
    ([field]) => !rows.some(({ path }) => field === path || field.startsWith(`${path}.`)),
  );
  const count = Object.keys(errors).length;
  const first = count > 1 ? `${count} fields are not correct yet.` : message;
  return [first, ...others.map(([field, texts]) => `${field}: ${texts.join(', ')}`)].join(' ');
}

/** Fields with one heading. `children` stand before them. */
export function FormSection({
  section,
  context,
  children,
}: {
  section: Section;
  context: FieldContext;
  children?: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(section.isFolded !== true);
  const isWrong = section.rows.some(({ path }) => errorAt(context.errors, path) !== undefined);
  const content = (
    <>
      {section.intro && <p class="hint intro">{section.intro}</p>}
      {children}
      <Fields rows={section.rows} context={context} />
    </>
  );
  if (section.isFolded !== true) {
    return (
      <section class="card">
        <h2>{section.title}</h2>
        {content}
      </section>
    );
  }
  return (
    <details
      class="card"
      open={isOpen || isWrong}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{section.title}</summary>
      {(isOpen || isWrong) && content}
    </details>
  );
}
