import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { get, withQuery } from '../base/service.ts';

/** Choices of checks that the service searches, so that any of 10,000 checks is found. */

export type Named = { readonly id: string; readonly name: string };

const shown = 12;
const typingMs = 250;
const path = '/v1/checks-overview';
type Found = { readonly entries: readonly Named[]; readonly length: number };

/** A field that searches checks by name, tag or id while someone types. The arrow keys move in the list below it. */
export function CheckSearch({
  label,
  placeholder = 'Search checks',
  exclude = [],
  onChoose,
}: {
  label: string;
  placeholder?: string;
  /** Ids that are not offered. */
  exclude?: readonly string[];
  onChoose: (check: Named) => void;
}) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [found, setFound] = useState<Found | null>(null);
  const [at, setAt] = useState(-1);
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const ending = new AbortController();
    const timer = setTimeout(
      () => {
        // The search field is no place for an error: the list stays closed.
        get<Found>(withQuery(path, { search: typed.trim(), sort: 'name', limit: shown }), ending.signal).then(
          (answer) => (setFound(answer), setAt(-1)),
          () => undefined,
        );
      },
      typed === '' ? 0 : typingMs,
    );
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [typed, isOpen]);
  const choices = (found?.entries ?? []).filter((one) => !exclude.includes(one.id));
  const more = (found?.length ?? 0) - (found?.entries.length ?? 0);
  const choose = (check: Named | undefined) => {
    if (check === undefined) return;
    setTyped('');
    setOpen(false);
    setAt(-1);
    onChoose({ id: check.id, name: check.name });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isOpen) setOpen(false);
    else if (event.key === 'Enter' && isOpen) choose(choices[at]);
    else if (event.key === 'ArrowDown') {
      setOpen(true);
      setAt(Math.min(at + 1, choices.length - 1));
    } else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <span
      class="check-search"
      ref={box}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node) || !box.current?.contains(relatedTarget)) setOpen(false);
      }}
    >
      <input
        type="text"
        // The types of this attribute demand a `list`, which would be a second list.
        {...({ role: 'combobox' } as object)}
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={at >= 0 && isOpen ? `${id}-${at}` : undefined}
        autocomplete="off"
        placeholder={placeholder}
        value={typed}
        onFocus={() => setOpen(true)}
        onInput={({ currentTarget: { value } }) => {
          setTyped(value);
          setOpen(true);
        }}
        onKeyDown={onKey}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Checks found" hidden={!isOpen || choices.length === 0}>
        {choices.map((check, place) => (
          <li
            key={check.id}
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === at}
            // Not click: the field would lose the focus first.
            onMouseDown={(event) => {
              event.preventDefault();
              choose(check);
            }}
            // A screen reader may send a click only.
            onClick={() => choose(check)}
          >
            {check.name}
          </li>
        ))}
      </ul>
      <span
        role="status"
        class={isOpen && found !== null && (choices.length === 0 || more > 0) ? 'soft' : 'hidden-text'}
      >
        {isOpen && found !== null
          ? choices.length === 0
            ? 'No check matches.'
            : more > 0
              ? `${more} more: type a part of the name.`
              : ''
          : ''}
      </span>
    </span>
  );
}

/** Names of checks by their ids, as far as they are known: the others are read once. */
export function useCheckNames(ids: readonly string[]): {
  nameOf: (id: string) => string;
  learn: (check: Named) => void;
} {
  const [names, setNames] = useState<{ readonly [id: string]: string }>({});
  const asked = useRef(new Set<string>());
  const learn = (check: Named) => {
    asked.current.add(check.id);
    setNames((known) => ({ ...known, [check.id]: check.name }));
  };
  const key = ids.join();
  useEffect(() => {
    const ending = new AbortController();
    const read = async () => {
      // One after another: a list of some hundred checks must not use up the service's connections.
      for (const id of key.split(',')) {
        if (id === '' || asked.current.has(id)) continue;
        const { entries } = await get<Found>(withQuery(path, { search: id, limit: 1 }), ending.signal);
        const check = entries.find((one) => one.id === id);
        if (check !== undefined) learn(check);
        asked.current.add(id);
      }
    };
    read().catch(() => undefined);
    return () => ending.abort();
  }, [key]);
  return { nameOf: (id) => names[id] ?? id, learn };
}

/** Any number of checks: those that are chosen, and a search that adds more. */
export function ChecksField({
  label,
  hint,
  error,
  value,
  onChange,
}: {
  label: string;
  hint?: string;
  error?: string | undefined;
  value: readonly string[];
  onChange: (value: string[]) => void;
}) {
  const { nameOf, learn } = useCheckNames(value);
  return (
    <fieldset class={error ? 'field wrong' : 'field'}>
      <legend>{label}</legend>
      <span class="chosen-checks">
        {value.map((id) => (
          <span key={id} class="word">
            <span class="break">{nameOf(id)}</span>
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${nameOf(id)}`}
              onClick={() => onChange(value.filter((one) => one !== id))}
            >
              ×
            </button>
          </span>
        ))}
      </span>
      <CheckSearch
        label={`Add to: ${label}`}
        placeholder="Add a check: search by name"
        exclude={value}
        onChoose={(check) => {
          learn(check);
          onChange([...value, check.id]);
        }}
      />
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="error">{error}</p>}
    </fieldset>
  );
}
