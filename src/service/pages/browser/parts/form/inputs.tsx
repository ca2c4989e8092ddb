import { Field, type FieldProps } from './field.tsx';

/** Controls for single values. Each tells its new value to `onChange`. */

type Of<Value> = FieldProps & { value: Value; onChange: (value: Value) => void };

export function TextField({
  value,
  onChange,
  type = 'text',
  placeholder,
  disabled,
  ...field
}: Of<string> & {
  type?: 'text' | 'url' | 'password' | 'search' | 'datetime-local' | 'color';
  placeholder?: string;
}) {
  return (
    <Field {...field}>
      {(attributes) => (
        <input
          {...attributes}
          // The attributes of all these types are the same.
          {...({ type } as { type: 'text' })}
          value={value}
          placeholder={placeholder}
          disabled={disabled}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function AreaField({
  value,
  onChange,
  rows = 4,
  placeholder,
  disabled,
  ...field
}: Of<string> & { rows?: number; placeholder?: string }) {
  return (
    <Field {...field}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={rows}
          value={value}
          placeholder={placeholder}
          disabled={disabled}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Null = empty. */
export function NumberField({
  value,
  onChange,
  min,
  max,
  step,
  unit,
  disabled,
  ...field
}: Of<number | null> & { min?: number; max?: number; step?: number; unit?: string }) {
  return (
    <Field {...field}>
      {(attributes) => (
        <span class="with-unit">
          <input
            {...attributes}
            type="number"
            value={value ?? ''}
            min={min}
            max={max}
            step={step ?? 'any'}
            disabled={disabled}
            onInput={({ currentTarget }) =>
              onChange(currentTarget.value === '' ? null : Number(currentTarget.value))
            }
          />
          {unit && <span class="soft">{unit}</span>}
        </span>
      )}
    </Field>
  );
}

/** A choice of one of some values, which are texts. */
export function ChoiceField<Value extends string>({
  value,
  onChange,
  choices,
  disabled,
  ...field
}: Of<Value> & { choices: readonly { readonly value: Value; readonly title: string }[] }) {
  return (
    <Field {...field}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          disabled={disabled}
          onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Yes or no. */
export function SwitchField({ value, onChange, label, hint, error, disabled }: Of<boolean>) {
  return (
    <div class={error ? 'field switch wrong' : 'field switch'}>
      <label>
        <input
          type="checkbox"
          checked={value}
          disabled={disabled}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="error">{error}</p>}
    </div>
  );
}
