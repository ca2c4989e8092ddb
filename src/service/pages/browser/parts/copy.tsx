import { sayDone, sayFailed } from './messages.tsx';

/** A text in a box with a button that copies it, and one that saves it if it is a file. */
export function Copy({
  text,
  label,
  isSecret = false,
  file,
}: {
  text: string;
  label: string;
  isSecret?: boolean;
  file?: { readonly name: string; readonly type: string };
}) {
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
      <div class="copy-buttons">
        <button type="button" onClick={() => void copy()} aria-label={`Copy: ${label}`}>
          Copy
        </button>
        {file && (
          <button type="button" onClick={() => saveAs(text, file)} aria-label={`Download: ${label}`}>
            Download
          </button>
        )}
      </div>
    </div>
  );
}

/** Saves a text as a file of the reader. */
export function saveAs(text: string, { name, type }: { readonly name: string; readonly type: string }): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download has begun with the click in every browser.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
