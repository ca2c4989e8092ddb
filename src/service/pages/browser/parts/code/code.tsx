import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Language } from './editor.ts';

/**
 * A field for scripts and JSON. Its editor is loaded when the field is shown; until then, and where it cannot be loaded, a
 * plain text field does the same.
 */
export function CodeField({
  label,
  hint,
  error,
  value,
  onChange,
  language = 'javascript',
  isReadOnly = false,
}: {
  label: string;
  hint?: string;
  error?: string | undefined;
  value: string;
  onChange: (value: string) => void;
  language?: Language;
  isReadOnly?: boolean;
}) {
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<{ setText: (text: string) => void; setReadOnly: (is: boolean) => void } | null>(null);
  const latest = useRef({ value, onChange });
  latest.current = { value, onChange };
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    let end = () => {};
    let isWanted = true;
    void import('./editor.ts').then(
      ({ startEditor }) => {
        if (!isWanted || host.current === null) return;
        const started = startEditor(host.current, {
          text: latest.current.value,
          label,
          language,
          isReadOnly,
          onChange: (text) => latest.current.onChange(text),
        });
        editor.current = started;
        end = started.destroy;
        setReady(true);
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
      editor.current = null;
      end();
    };
  }, [language]);
  // Before the next key: a later effect would undo what was typed meanwhile.
  useLayoutEffect(() => editor.current?.setText(value), [value]);
  useEffect(() => editor.current?.setReadOnly(isReadOnly), [isReadOnly]);
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id} onClick={() => isReady && host.current?.focus()}>
        {label}
      </label>
      {!isReady && (
        <textarea
          id={id}
          rows={10}
          value={value}
          readOnly={isReadOnly}
          aria-invalid={error !== undefined}
          aria-describedby={`${id}-error`}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
      <div ref={host} class="code-host" hidden={!isReady} />
      {hint && <p class="hint">{hint} Escape and then Tab leaves the editor.</p>}
      <p id={`${id}-error`} class="error">
        {error}
      </p>
    </div>
  );
}
