import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useLeaveGuard } from '../../base/router.ts';
import { Refused, send, type Method } from '../../base/service.ts';
import { sayFailed } from '../messages.tsx';
import type { FieldErrors } from './field.tsx';

/** A form that changes one body and sends it to the public API. */

export type FormState<Body extends object> = {
  readonly body: Body;
  readonly errors: FieldErrors;
  /** The message above the fields, when a save was refused. */
  readonly message: string | null;
  readonly isBusy: boolean;
  readonly isChanged: boolean;
  readonly change: (change: Partial<Body>) => void;
  /** Begins anew, with nothing to save. */
  readonly reset: (body: Body) => void;
  /** Sends the body; resolves with the answer, or undefined if it was refused. */
  readonly save: (method: Method, path: string, body?: unknown) => Promise<unknown>;
};

/**
 * The state of a form that begins with `initial`. The page asks before unsaved changes are left. `keptOver`: parts of
 * the query that may change while the form stays, such as the page of a list next to it.
 */
export function useForm<Body extends object>(
  initial: Body,
  { keptOver }: { keptOver?: readonly string[] } = {},
): FormState<Body> {
  const [body, setBody] = useState(initial);
  const [errors, setErrors] = useState<FieldErrors>({});
  const [message, setMessage] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isChanged, setChanged] = useState(false);
  const busy = useRef(false);
  useLeaveGuard(isChanged, keptOver);
  return {
    body,
    errors,
    message,
    isBusy,
    isChanged,
    change: (change) => {
      setBody((before) => ({ ...before, ...change }));
      setChanged(true);
    },
    reset: (to) => {
      setBody(to);
      setErrors({});
      setMessage(null);
      setChanged(false);
    },
    save: async (method, path, sent) => {
      if (busy.current) return undefined;
      busy.current = true;
      setBusy(true);
      try {
        const answer = await send<unknown>(method, path, sent ?? body);
        setErrors({});
        setMessage(null);
        setChanged(false);
        // The guard of changes that are not saved ends with the next drawing.
        await new Promise((resolve) => setTimeout(resolve));
        return answer ?? {};
      } catch (error) {
        if (error instanceof Refused) {
          setErrors(error.attributes);
          setMessage(error.message);
          requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
        } else sayFailed(error);
        return undefined;
      } finally {
        busy.current = false;
        setBusy(false);
      }
    },
  };
}

export function Form({
  onSubmit,
  message,
  children,
  buttons,
  isReadOnly = false,
}: {
  onSubmit: () => void;
  message: string | null;
  children: ComponentChildren;
  buttons: ComponentChildren;
  /** Shows the fields to keys that may not change them. */
  isReadOnly?: boolean;
}) {
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {message !== null && (
        <p class="note failed" role="alert">
          {message}
        </p>
      )}
      <fieldset class="fields" role="presentation" disabled={isReadOnly}>
        {children}
      </fieldset>
      <div class="buttons sticky">{buttons}</div>
    </form>
  );
}
