import { Fragment, type ComponentChildren } from 'preact';

/** The top of a page: where it is, its name, and what can be done with it. */

export type Step = { readonly href: string; readonly title: string };

/** Links to the pages above this one. */
export function Trail({ steps }: { steps: readonly Step[] }) {
  return (
    <nav class="crumbs" aria-label="Where you are">
      {steps.map(({ href, title }, index) => (
        <Fragment key={href}>
          {index > 0 && ' › '}
          <a href={href}>{title}</a>
        </Fragment>
      ))}
    </nav>
  );
}

export function PageHead({
  trail,
  title,
  children,
}: {
  trail: readonly Step[];
  title: string;
  /** Follows the heading: a status, buttons. */
  children?: ComponentChildren;
}) {
  return (
    <header class="page-head">
      <Trail steps={trail} />
      <h1>{title}</h1>
      {children}
    </header>
  );
}
