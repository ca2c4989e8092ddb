import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Field, type FieldProps } from './field.tsx';

/** Controls for lists: words, chosen entries, rows. */

/** Words such as tags: Enter or a comma adds one, Backspace in the empty field removes the last. */
export function WordsField({
  value,
  onChange,
  placeholder,
  suggestions = [],
  ...field
}: FieldProps & {
  value: readonly string[];
  onChange: (value: string[]) => void;
  placeholder?: string;
  suggestions?: readonly string[];
}) {
  const [typed, setTyped] = useState('');
  const add = () => {
    const words = typed
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '' && !value.includes(word));
    if (words.length > 0) onChange([...value, ...words]);
    setTyped('');
  };
  return (
    <Field {...field}>
      {({ id, ...attributes }) => (
        <span class="words">
          {value.map((word) => (
            <span key={word} class="word">
              {word}
              <button
                type="button"
                class="plain"
                aria-label={`Remove ${word}`}
                onClick={() => onChange(value.filter((one) => one !== word))}
              >
                ×
              </button>
            </span>
          ))}
          <input
            id={id}
            {...attributes}
            list={`${id}-list`}
            value={typed}
            placeholder={placeholder}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            onBlur={add}
            onKeyDown={(event) => {
              if (event.key === 'Enter' || event.key === ',') {
                event.preventDefault();
                add();
              } else if (event.key === 'Backspace' && typed === '') onChange(value.slice(0, -1));
            }}
          />
          <datalist id={`${id}-list`}>
            {suggestions.map((word) => (
              <option key={word} value={word} />
            ))}
          </datalist>
        </span>
      )}
    </Field>
  );
}

/** Any number of some entries, as check boxes. */
export function ManyField({
  label,
  hint,
  error,
  value,
  onChange,
  choices,
}: FieldProps & {
  value: readonly string[];
  onChange: (value: string[]) => void;
  choices: readonly { readonly value: string; readonly title: ComponentChildren }[];
}) {
  return (
    <fieldset class={error ? 'field many wrong' : 'field many'}>
      <legend>{label}</legend>
      {choices.length === 0 && <p class="hint">There is nothing to choose from.</p>}
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="checkbox"
            aria-invalid={error !== undefined}
            checked={value.includes(choice.value)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(checked ? [...value, choice.value] : value.filter((one) => one !== choice.value))
            }
          />
          <span>{choice.title}</span>
        </label>
      ))}
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="error">{error}</p>}
    </fieldset>
  );
}

/** Rows of the same kind, such as headers or assertions, with buttons that add and remove them. */
export function Rows<Row>({
  label,
  one,
  value,
  onChange,
  empty,
  children,
  error,
  max = 1000,
}: {
  label: string;
  /** The word for one row, such as "header". */
  one: string;
  value: readonly Row[];
  onChange: (value: Row[]) => void;
  /** Makes a new row. */
  empty: () => Row;
  children: (row: Row, change: (row: Row) => void, at: number) => ComponentChildren;
  error?: string | undefined;
  max?: number;
}) {
  return (
    <fieldset class={error ? 'field rows wrong' : 'field rows'}>
      <legend>{label}</legend>
      {value.map((row, at) => (
        <div key={at} class="form-row">
          {children(
            row,
            (changed) => onChange(value.map((other, place) => (place === at ? changed : other))),
            at,
          )}
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${one} ${at + 1}`}
            onClick={() => onChange(value.filter((_, place) => place !== at))}
          >
            ×
          </button>
        </div>
      ))}
      {value.length < max && (
        <button type="button" onClick={() => onChange([...value, empty()])}>
          Add {one}
        </button>
      )}
      {error && <p class="error">{error}</p>}
    </fieldset>
  );
}

/** Pairs of a key and a value, such as headers. */
export function PairsField<Pair extends { key: string; value: string }>({
  label,
  one,
  value,
  onChange,
  error,
  empty,
}: {
  label: string;
  one: string;
  value: readonly Pair[];
  onChange: (value: Pair[]) => void;
  error?: string | undefined;
  empty: () => Pair;
}) {
  return (
    <Rows label={label} one={one} value={value} onChange={onChange} empty={empty} error={error}>
      {(pair, change, at) => (
        <>
          <input
            aria-label={`Name of ${one} ${at + 1}`}
            placeholder="name"
            value={pair.key}
            spellcheck={false}
            onInput={({ currentTarget }) => change({ ...pair, key: currentTarget.value })}
          />
          <input
            aria-label={`Value of ${one} ${at + 1}`}
            placeholder="value"
            value={pair.value}
            spellcheck={false}
            onInput={({ currentTarget }) => change({ ...pair, value: currentTarget.value })}
          />
        </>
      )}
    </Rows>
  );
}
