import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** A labelled field of a form with its hint and its error. */

export type FieldErrors = { readonly [field: string]: readonly string[] };

/** What every field has. `error`: shown at the field and told to screen readers. */
export type FieldProps = {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  required?: boolean;
  disabled?: boolean;
};

/** `children` gets the attributes that the control needs. */
export function Field({
  label,
  hint,
  error,
  required,
  children,
}: Omit<FieldProps, 'disabled'> & {
  children: (attributes: {
    id: string;
    'aria-describedby': string;
    'aria-invalid': boolean;
    'aria-required': boolean | undefined;
  }) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>
        {label}
        {required && <span class="soft"> (required)</span>}
      </label>
      {children({
        id,
        'aria-describedby': `${id}-hint ${id}-error`,
        'aria-invalid': error !== undefined,
        'aria-required': required,
      })}
      <p id={`${id}-hint`} class="hint">
        {hint}
      </p>
      <p id={`${id}-error`} class="error">
        {error}
      </p>
    </div>
  );
}

/** The error of a field by its path in the body (`request.url`); also errors below it. */
export function errorAt(errors: FieldErrors, path: string): string | undefined {
  const own = Object.entries(errors).filter(
    ([name]) => name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`),
  );
  return own.length === 0
    ? undefined
    : own
        .map(([name, texts]) =>
          name === path ? texts.join(', ') : `${name.slice(path.length)}: ${texts.join(', ')}`,
        )
        .join('; ');
}
