import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** Dialogs: the browser's own element, which keeps the focus inside and returns it. */

export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={wide ? 'wide' : ''} aria-labelledby={id} onClose={onClose}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}

let show: ((content: VNode | null) => void) | null = null;

/** The place of the dialogs that `ask` opens. */
export function DialogHost() {
  const [content, setContent] = useState<VNode | null>(null);
  useEffect(() => {
    show = setContent;
    return () => {
      show = null;
    };
  }, []);
  return content;
}

/** Asks before something that cannot be undone. `action` is the word on the button. Resolves with the answer. */
export function ask(question: {
  title: string;
  text: ComponentChildren;
  action: string;
  isDangerous?: boolean;
}): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (answer: boolean) => {
      show?.(null);
      resolve(answer);
    };
    show?.(
      <Dialog title={question.title} onClose={() => end(false)}>
        <div>{question.text}</div>
        <div class="buttons">
          <button type="button" class={question.isDangerous ? 'danger' : 'main'} onClick={() => end(true)}>
            {question.action}
          </button>
          <button type="button" onClick={() => end(false)}>
            Cancel
          </button>
        </div>
      </Dialog>,
    );
  });
}
