import { useRef } from 'preact/hooks';
import { errorAt, type FieldErrors } from '../parts/form/field.tsx';
import type { Body, Column, Row } from './fields/row.ts';

/** Rows of the same kind in the body of a check: headers, assertions, variables, files. */

type ListRow = Row & { kind: 'list' };

/** A new row of a list. */
export function emptyEntry(columns: readonly Column[]): Body {
  return Object.fromEntries(
    columns.map(({ key, choices, ...column }) => [
      key,
      column.default ?? choices?.[0] ?? (column.nullable ? null : ''),
    ]),
  );
}

export function ListField({
  row,
  value,
  errors,
  onChange,
}: {
  row: ListRow;
  value: readonly Body[];
  errors: FieldErrors;
  onChange: (value: readonly Body[]) => void;
}) {
  const box = useRef<HTMLFieldSetElement>(null);
  const own = errors[row.path]?.join(', ');
  const add = () => {
    onChange([...value, emptyEntry(row.columns)]);
    // The first control of the new row.
    requestAnimationFrame(() =>
      box.current?.querySelector<HTMLElement>('.entry:last-of-type :is(input, select)')?.focus(),
    );
  };
  const remove = (at: number) => {
    onChange(value.filter((_, place) => place !== at));
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('.add')?.focus());
  };
  return (
    <fieldset ref={box} class={errorAt(errors, row.path) ? 'field rows wrong-list' : 'field rows'}>
      <legend>{row.label}</legend>
      {row.hint && <p class="hint">{row.hint}</p>}
      {value.map((entry, at) => (
        <div key={at} class="entry">
          <div class="form-row">
            {row.columns.map((column) => (
              <Cell
                key={column.key}
                column={column}
                entry={entry}
                label={`${column.label} of ${row.one} ${at + 1}`}
                isWrong={errorAt(errors, `${row.path}.${at}.${column.key}`) !== undefined}
                onChange={(changed) =>
                  onChange(value.map((other, place) => (place === at ? changed : other)))
                }
              />
            ))}
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${row.one} ${at + 1}`}
              onClick={() => remove(at)}
            >
              ×
            </button>
          </div>
          <p class="error">{errorAt(errors, `${row.path}.${at}`)?.replace(/^\./, '')}</p>
        </div>
      ))}
      {value.length < (row.max ?? 1000) && (
        <button type="button" class="add" onClick={add}>
          Add {row.one}
        </button>
      )}
      <p class="error">{own}</p>
    </fieldset>
  );
}

function Cell({
  column,
  entry,
  label,
  isWrong,
  onChange,
}: {
  column: Column;
  entry: Body;
  label: string;
  isWrong: boolean;
  onChange: (entry: Body) => void;
}) {
  const value = entry[column.key] ?? column.default ?? '';
  const isUsual = value === (column.default ?? '') || value === '';
  if (!isWrong && isUsual && column.when?.(entry) === false) return null;
  const text = typeof value === 'string' ? value : '';
  const change = (to: unknown) => onChange({ ...entry, [column.key]: to });
  const changeText = (to: string) => change(to === '' && column.nullable ? null : to);
  const common = { 'aria-label': label, 'aria-invalid': isWrong };
  if (column.kind === 'switch') {
    return (
      <label class="cell-switch">
        <input
          type="checkbox"
          checked={value === true}
          {...common}
          onChange={({ currentTarget }) => change(currentTarget.checked)}
        />
        <span aria-hidden="true">{column.label}</span>
      </label>
    );
  }
  if (column.kind === 'choice') {
    const choices = column.choicesOf?.(entry) ?? column.choices ?? [];
    const shown = choices.includes(text) ? choices : [...choices, text];
    return (
      <select
        {...common}
        value={text}
        onChange={({ currentTarget }) =>
          onChange(settled(column, { ...entry, [column.key]: currentTarget.value }))
        }
      >
        {shown.map((choice) => (
          <option key={choice} value={choice}>
            {choice.toLowerCase().replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    );
  }
  const placeholder = column.placeholder?.(entry) ?? column.label.toLowerCase();
  if (column.kind === 'area') {
    return (
      <textarea
        {...common}
        rows={4}
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        onInput={({ currentTarget }) => changeText(currentTarget.value)}
      />
    );
  }
  return (
    <input
      {...common}
      // The attributes of both types are the same.
      {...({ type: column.isSecret?.(entry) ? 'password' : 'text' } as { type: 'text' })}
      autocomplete="off"
      value={text}
      placeholder={placeholder}
      spellcheck={false}
      onInput={({ currentTarget }) => changeText(currentTarget.value)}
    />
  );
}

/** Another source of an assertion begins with a property and a comparison of its own. */
function settled(column: Column, entry: Body): Body {
  if (column.key !== 'source') return entry;
  const isLatency = entry['source'] === 'LATENCY';
  return { ...entry, property: isLatency ? 'avg' : '', regex: null, comparison: 'EQUALS' };
}
