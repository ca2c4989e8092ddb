import { useState } from 'preact/hooks';
import { CodeField } from '../parts/code/code.tsx';
import { errorAt, type FieldErrors } from '../parts/form/field.tsx';
import { AreaField, ChoiceField, NumberField, SwitchField, TextField } from '../parts/form/inputs.tsx';
import { ManyField, WordsField } from '../parts/form/lists.tsx';
import { BundleField } from './bundle.tsx';
import type { Choices, Chosen } from './choices.ts';
import type { Body, Row } from './fields/row.ts';
import { ListField } from './lists.tsx';
import { initialObject, valueAt } from './values.ts';

/** Draws a field of a check by its description. */

export type FieldContext = {
  readonly body: Body;
  readonly errors: FieldErrors;
  readonly choices: Choices;
  /** Sets the value at a path; undefined removes it. */
  readonly set: (path: string, value: unknown) => void;
};

export function Fields({ rows, context }: { rows: readonly Row[]; context: FieldContext }) {
  return (
    <div class="field-grid">
      {rows.map((row) => {
        const error = errorAt(context.errors, row.path);
        if (error === undefined && row.when?.(context.body) === false) return null;
        return (
          <div key={row.path} class={row.isWide ? 'wide' : undefined}>
            <OneField row={row} error={error} context={context} />
          </div>
        );
      })}
    </div>
  );
}

type Of<K extends Row['kind']> = { row: Row & { kind: K }; error: string | undefined; context: FieldContext };

function OneField({ row, error, context }: { row: Row; error: string | undefined; context: FieldContext }) {
  const value = valueAt(context.body, row.path);
  const set = (to: unknown) => context.set(row.path, to);
  const common = {
    label: row.label,
    error,
    ...(row.hint === undefined ? {} : { hint: row.hint }),
    ...(row.required === undefined ? {} : { required: row.required }),
  };
  switch (row.kind) {
    case 'text':
    case 'password':
      return (
        <TextField
          {...common}
          type={row.kind}
          {...(row.placeholder === undefined ? {} : { placeholder: row.placeholder })}
          value={textOf(value)}
          onChange={(text) => set(text === '' ? row.empty : text)}
        />
      );
    case 'area':
      return (
        <AreaField
          {...common}
          value={textOf(value)}
          onChange={(text) => set(text === '' ? row.empty : text)}
        />
      );
    case 'code':
      return (
        <CodeField
          {...common}
          value={textOf(value)}
          onChange={(text) => set(text === '' ? row.empty : text)}
        />
      );
    case 'number':
      return (
        <NumberField
          {...common}
          {...(row.min === undefined ? {} : { min: row.min })}
          {...(row.max === undefined ? {} : { max: row.max })}
          {...(row.unit === undefined ? {} : { unit: row.unit })}
          value={typeof value === 'number' ? value : null}
          onChange={(number) => set(number ?? row.empty)}
        />
      );
    case 'switch':
      return <SwitchField {...common} value={value === true} onChange={set} />;
    case 'choice':
      return (
        <PickField {...common} value={value ?? null} choices={withOther(row.choices, value)} onChange={set} />
      );
    case 'pick':
      return (
        <PickField
          {...common}
          value={value ?? null}
          choices={withOther(
            [{ value: null, title: row.none ?? 'choose one' }, ...context.choices[row.from]],
            value,
          )}
          onChange={set}
        />
      );
    case 'words':
      return <WordsField {...common} value={textsOf(value)} onChange={set} />;
    case 'several':
      return (
        <ManyField
          {...common}
          value={textsOf(value)}
          onChange={set}
          choices={row.choices.map((choice) => ({ value: String(choice.value), title: choice.title }))}
        />
      );
    case 'many':
      return <PlacesField row={row} error={error} context={context} />;
    case 'object':
      return <ObjectField row={row} error={error} context={context} />;
    case 'list':
      return (
        <ListField
          row={row}
          value={(value ?? []) as readonly Body[]} // a list of objects in the API
          errors={context.errors}
          onChange={set}
        />
      );
    case 'json':
      return <JsonField row={row} error={error} context={context} />;
    case 'channels':
      return <ChannelsField row={row} error={error} context={context} />;
    case 'bundle':
      return <BundleField row={row} error={error} value={textOf(value)} onChange={set} />;
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

/** A value that is not among the choices stays selectable. */
function withOther(choices: readonly Chosen[], value: unknown): readonly Chosen[] {
  const known = value ?? null;
  if (choices.some((choice) => choice.value === known)) return choices;
  return [
    ...choices,
    { value: known as Chosen['value'], title: known === null ? 'choose one' : String(known) },
  ];
}

/** A choice whose values are numbers, texts or null. */
function PickField({
  value,
  choices,
  onChange,
  ...common
}: {
  label: string;
  error: string | undefined;
  hint?: string;
  required?: boolean;
  value: unknown;
  choices: readonly Chosen[];
  onChange: (value: unknown) => void;
}) {
  const at = choices.findIndex((choice) => choice.value === value);
  return (
    <ChoiceField
      {...common}
      value={String(at)}
      choices={choices.map(({ title }, place) => ({ value: String(place), title }))}
      onChange={(place) => onChange(choices[Number(place)]?.value ?? null)}
    />
  );
}

function PlacesField({ row, error, context }: Of<'many'>) {
  const value = textsOf(valueAt(context.body, row.path));
  const known = context.choices[row.from];
  const missing = value.filter((slug) => !known.some((place) => place.value === slug));
  return (
    <div class="places">
      <ManyField
        label={row.label}
        error={error}
        {...(row.hint === undefined ? {} : { hint: row.hint })}
        value={value}
        onChange={(slugs) => context.set(row.path, slugs)}
        choices={[
          ...known.map((place) => ({
            value: String(place.value),
            title: (
              <>
                {place.title}{' '}
                <span class="soft">
                  {place.isServed ? '(agent running)' : row.from === 'locations' ? '' : '(no agent)'}
                </span>
              </>
            ),
          })),
          ...missing.map((slug) => ({ value: slug, title: slug })),
        ]}
      />
    </div>
  );
}

function ObjectField({ row, error, context }: Of<'object'>) {
  const value = valueAt(context.body, row.path) ?? null;
  return (
    <div class={value === null ? undefined : 'inner-fields'}>
      <SwitchField
        label={row.label}
        {...(row.hint === undefined ? {} : { hint: row.hint })}
        error={value === null ? error : context.errors[row.path]?.join(', ')}
        value={value !== null}
        onChange={(is) => context.set(row.path, is ? initialObject(row) : null)}
      />
      {value !== null && <Fields rows={row.rows} context={context} />}
    </div>
  );
}

/** JSON as text. The body changes when the text can be read. */
function JsonField({ row, error, context }: Of<'json'>) {
  const value = valueAt(context.body, row.path) ?? null;
  const [text, setText] = useState(value === null ? '' : JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState<string>();
  const change = (typed: string) => {
    setText(typed);
    try {
      context.set(row.path, typed.trim() === '' ? null : JSON.parse(typed));
      setProblem(undefined);
    } catch (reason) {
      setProblem(`This is not JSON yet, so the last readable text is used: ${String(reason)}`);
    }
  };
  return (
    <CodeField
      label={row.label}
      {...(row.hint === undefined ? {} : { hint: row.hint })}
      error={problem ?? error}
      language="json"
      value={text}
      onChange={change}
    />
  );
}

type Subscription = { alertChannelId: number; activated: boolean };

function ChannelsField({ row, error, context }: Of<'channels'>) {
  const value = (valueAt(context.body, row.path) ?? []) as readonly Subscription[]; // as in the API
  const chosen = value.filter(({ activated }) => activated).map((one) => String(one.alertChannelId));
  const change = (ids: readonly string[]) => {
    const kept = value.filter((one) => !one.activated && !ids.includes(String(one.alertChannelId)));
    const before = value.filter((one) => one.activated && ids.includes(String(one.alertChannelId)));
    const added = ids
      .filter((id) => !chosen.includes(id))
      .map((id) => ({ alertChannelId: Number(id), activated: true }));
    context.set(row.path, [...kept, ...before, ...added]);
  };
  return (
    <ManyField
      label={row.label}
      error={error}
      value={chosen}
      onChange={change}
      choices={context.choices.channels.map(({ id, title }) => ({ value: String(id), title }))}
    />
  );
}
