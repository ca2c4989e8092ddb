import type { ComponentChildren } from 'preact';
import { Unreachable } from '../base/service.ts';
import type { Loaded } from '../base/load.ts';
import { Button } from './button.tsx';

/** What stands in the place of content that is not there. */

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {what} …
    </p>
  );
}

export function Problem({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="card problem" role="alert">
      <h2>{title}</h2>
      <div>{children}</div>
    </section>
  );
}

/** Nothing here yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <div>{children}</div>
    </div>
  );
}

/**
 * Shows a value when it is there, and otherwise why it is not. A value that could not be read again stays, with a line
 * above it.
 */
export function Shown<Value>({
  of,
  what,
  children,
}: {
  of: Loaded<Value>;
  what: string;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, error } = of;
  if (value === undefined && error === undefined) return <Loading what={what} />;
  return (
    <>
      {error && (
        <p class="note warn" role="status">
          {error instanceof Unreachable ? 'The service cannot be reached.' : error.message}{' '}
          <Button onClick={of.reload}>Try again</Button>
        </p>
      )}
      {value !== undefined && children(value)}
    </>
  );
}
