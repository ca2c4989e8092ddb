import { useLoad } from '../base/load.ts';
import type { PageProps } from '../base/page.ts';
import { go } from '../base/router.ts';
import { get } from '../base/service.ts';
import { readChoices, type Choices } from '../edit/choices.ts';
import type { FieldContext } from '../edit/field.tsx';
import type { Body } from '../edit/fields/row.ts';
import { FormSection, messageOf, nameIn } from '../edit/form.tsx';
import { changesOf, withValue } from '../edit/values.ts';
import { Button } from '../parts/button.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { ChoiceField } from '../parts/form/inputs.tsx';
import { sayDone } from '../parts/messages.tsx';
import { Shown } from '../parts/notice.tsx';
import { bodyOfGroup, groupSections, newGroup, type Leaving } from './form-rows.ts';
import { PageHead } from '../parts/page-head.tsx';

/** A new group, or the settings of one. */
export function Page({ params: { id } }: PageProps) {
  const loaded = useLoad(id ?? 'new', async (signal) => {
    const [choices, group] = await Promise.all([
      readChoices(signal),
      id === undefined ? null : get<Body>(`/v2/check-groups/${encodeURIComponent(id)}`, signal),
    ]);
    return { choices, group };
  });
  return (
    <Shown of={loaded} what="the form">
      {({ choices, group }) => (
        <>
          <PageHead
            trail={[
              { href: '/', title: 'Checks' },
              { href: '/groups', title: 'Groups' },
              ...(id !== undefined && group !== null
                ? [{ href: `/groups/${id}`, title: String(group['name']) }]
                : []),
            ]}
            title={group === null ? 'New group' : `Edit ${String(group['name'])}`}
          />
          <GroupForm
            key={id ?? 'new'}
            id={id ?? null}
            initial={group === null ? newGroup : bodyOfGroup(group)}
            choices={choices}
          />
        </>
      )}
    </Shown>
  );
}

const rows = groupSections.flatMap((section) => [
  ...section.rows,
  ...(section.leaving === undefined ? [] : [section.leaving]),
]);

function GroupForm({ id, initial, choices }: { id: string | null; initial: Body; choices: Choices }) {
  const state = useForm<Body>(initial);
  const { body, errors } = state;
  const context: FieldContext = {
    body,
    errors,
    choices,
    set: (path, value) => {
      const [top = ''] = path.split('.');
      state.change({ [top]: withValue(body, path, value)[top] });
    },
  };
  const method = id === null ? 'POST' : 'PUT';
  const path = id === null ? '/v2/check-groups' : `/v2/check-groups/${id}`;
  const sent = id === null ? body : changesOf(initial, body, rows);
  const save = async () => {
    const answer = (await state.save(method, path, sent)) as { id?: number } | undefined; // a group
    if (answer === undefined) return;
    sayDone(id === null ? 'The group was created.' : 'The group was saved.');
    go(`/groups/${answer.id ?? id ?? ''}`);
  };
  return (
    <div class="edit">
      <Form
        message={messageOf(state.message, errors, rows)}
        onSubmit={() => void save()}
        buttons={
          <>
            <Button type="submit" class="main" isOff={state.isBusy}>
              {id === null ? 'Create the group' : 'Save'}
            </Button>
            <a class="button" href={id === null ? '/groups' : `/groups/${id}`}>
              Cancel
            </a>
          </>
        }
      >
        {groupSections.map((section) => (
          <FormSection key={section.title} section={section} context={context}>
            {section.leaving && <LeavingField of={section.leaving} context={context} />}
          </FormSection>
        ))}
        <AsText
          method={method}
          path={path}
          body={body}
          resource={{ kind: 'check-group', name: nameIn(body) }}
        />
      </Form>
    </div>
  );
}

/** Yes, no, or what each check says. */
function LeavingField({ of: { path, label, yes, no }, context }: { of: Leaving; context: FieldContext }) {
  const value = context.body[path];
  return (
    <ChoiceField
      label={label}
      error={context.errors[path]?.join(', ')}
      value={value === true ? 'yes' : value === false ? 'no' : 'each'}
      choices={[
        { value: 'each', title: 'as each check says' },
        { value: 'yes', title: yes },
        { value: 'no', title: no },
      ]}
      onChange={(chosen) => context.set(path, chosen === 'each' ? null : chosen === 'yes')}
    />
  );
}
