import { useEffect, useState } from 'preact/hooks';

/** Short messages about what was done, at the bottom of the page and for screen readers. */

type Message = { readonly id: number; readonly text: string; readonly kind: 'done' | 'failed' };

let last = 0;
let messages: readonly Message[] = [];
const listeners = new Set<() => void>();
const change = (to: readonly Message[]) => {
  messages = to;
  for (const listener of listeners) listener();
};

const drop = (id: number) => change(messages.filter((message) => message.id !== id));

/** Says that something was done; it goes by itself. */
export function sayDone(text: string): void {
  const id = (last += 1);
  change([...messages.slice(-3), { id, text, kind: 'done' }]);
  setTimeout(() => drop(id), 6000);
}

/** Says that something failed; it stays until it is closed. */
export function sayFailed(error: unknown): void {
  const id = (last += 1);
  const text = error instanceof Error ? error.message : String(error);
  change([...messages.slice(-3), { id, text, kind: 'failed' }]);
}

export function Messages() {
  const [shown, setShown] = useState(messages);
  useEffect(() => {
    const listener = () => setShown(messages);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return (
    <div class="messages" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <p key={id} class={`message ${kind}`}>
          {text}
          <button type="button" class="plain" aria-label="Close the message" onClick={() => drop(id)}>
            ×
          </button>
        </p>
      ))}
    </div>
  );
}
