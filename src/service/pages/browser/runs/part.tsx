import type { ComponentChildren } from 'preact';
import { object, text } from '../base/outside.ts';

/** A titled card of a run. */
export function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** A table that scrolls inside its card. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

/** Names and values; rows without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, unknown])[] }) {
  const shown = facts.filter(([, value]) => value !== undefined && value !== null && value !== '');
  if (shown.length === 0) return null;
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name} class="fact">
          <dt>{name}</dt>
          <dd>{typeof value === 'boolean' ? (value ? 'yes' : 'no') : text(value, 4000)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Headers; a header may have several values. */
export function Headers({ headers, label }: { headers: unknown; label: string }) {
  const rows = Object.entries(object(headers))
    .slice(0, 200)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((one) => [name, one] as const));
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>
        {label} <span class="count">{rows.length}</span>
      </summary>
      <Scroll label={label}>
        <table class="headers" aria-label={label}>
          <tbody>
            {rows.map(([name, value], at) => (
              <tr key={at}>
                <th scope="row">{text(name, 200)}</th>
                <td>{text(value, 8000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
