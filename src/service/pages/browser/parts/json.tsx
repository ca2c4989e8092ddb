import { useState } from 'preact/hooks';

/** A JSON value that folds. Large lists show their first entries. */

const shownEntries = 100;

export function Json({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const [isOpen, setOpen] = useState(depth < 2);
  const [limit, setLimit] = useState(shownEntries);
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (typeof value !== 'object' || value === null)
    return (
      <div class="json-line">
        {label}
        <span class={`json-${value === null ? 'null' : typeof value}`}>
          {JSON.stringify(value) ?? 'undefined'}
        </span>
      </div>
    );
  const entries = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0)
    return (
      <div class="json-line">
        {label}
        {open}
        {close}
      </div>
    );
  return (
    <details class="json" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        {open}
        {!isOpen && ` ${entries.length} … ${close}`}
      </summary>
      {isOpen && (
        <>
          {entries.slice(0, limit).map(([key, entry]) => (
            <Json key={key} name={key} value={entry} depth={depth + 1} />
          ))}
          {entries.length > limit && (
            <button type="button" onClick={() => setLimit(limit * 4)}>
              {entries.length - limit} more
            </button>
          )}
          <div class="json-line">{close}</div>
        </>
      )}
    </details>
  );
}
