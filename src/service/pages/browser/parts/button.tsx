import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

const focusable = 'a[href], button, input, select, textarea, summary';

/** After an element with the focus was removed: the nearest one that is still there. */
function focusNear(beside: readonly (Element | null)[], parents: readonly Element[]): void {
  if (document.activeElement !== document.body) return;
  const neighbour = beside.find((one) => one?.isConnected === true && one.matches(focusable));
  const parent = parents.find(
    (one) => one.isConnected && (one.id === 'content' || one.querySelector(focusable)),
  );
  const near = neighbour ?? (parent?.id === 'content' ? parent : parent?.querySelector(focusable));
  if (near instanceof HTMLElement) near.focus({ preventScroll: true });
}

/**
 * A button that may be off for a while (`isOff`), for example during its own action. Browsers take the focus from a button
 * that becomes `disabled`. Someone with a keyboard would then begin at the top of the page again. So this one is only
 * marked as disabled, and ignores presses. If the button is removed, its neighbour gets the focus.
 */
export function Button({
  isOff = false,
  type = 'button',
  class: style,
  title,
  label,
  onClick,
  children,
}: {
  isOff?: boolean | undefined;
  type?: 'button' | 'submit';
  class?: string;
  title?: string | undefined;
  /** What screen readers say, if it is not the text. */
  label?: string | undefined;
  onClick?: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const button = element.current;
    return () => {
      if (button === null || document.activeElement !== button) return;
      const beside = [button.previousElementSibling, button.nextElementSibling];
      const parents: Element[] = [];
      for (let one = button.parentElement; one !== null; one = one.parentElement) parents.push(one);
      queueMicrotask(() => focusNear(beside, parents));
    };
  }, []);
  return (
    <button
      ref={element}
      type={type}
      class={style}
      title={title}
      aria-label={label}
      aria-disabled={isOff || undefined}
      onClick={(event) => {
        // Also keeps Enter in a field from sending the form.
        if (isOff) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}
