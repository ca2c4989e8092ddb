import { sayDone, sayFailed } from './messages.tsx';

/** A text in a box with a button that copies it. */
export function Copy({ text, label, isSecret = false }: { text: string; label: string; isSecret?: boolean }) {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => sayDone(`Copied: ${label}`),
      () => sayFailed('The browser did not allow copying: select the text and copy it.'),
    );
  return (
    <div class={isSecret ? 'copy secret' : 'copy'}>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <button type="button" onClick={() => void copy()} aria-label={`Copy: ${label}`}>
        Copy
      </button>
    </div>
  );
}
