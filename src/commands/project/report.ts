import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { printable } from '../terminal-text.ts';

/** A plan as a person reads it. */

const signs: { readonly [action: string]: string } = {
  CREATE: '+ create',
  UPDATE: '~ update',
  DELETE: '- delete',
  DETACHED: '= detach',
  UNCHANGED: '= attach',
};

/** Changes of a plan, without resources that stay as they are and were the project's own before. */
export const changesOf = (diff: unknown): Fields[] =>
  itemsOf(diff)
    .map((change) => ({ ...fieldsOf(change) }))
    .filter(({ action, notice }) => action !== 'UNCHANGED' || typeof notice === 'string');

const text = (value: unknown) => printable(JSON.stringify(value) ?? 'null');

function lineOf(difference: unknown): string {
  const { property, before, after, isSecret } = fieldsOf(difference);
  const name = printable(String(property));
  return isSecret === true ? `${name}: (secret value)` : `${name}: ${text(before)} → ${text(after)}`;
}

/** One line for each place that no agent serves, with the number of resources that name it. */
function warningLines(warnings: unknown): string[] {
  const counts = new Map<string, number>();
  for (const { message } of itemsOf(warnings).map(fieldsOf))
    counts.set(String(message), (counts.get(String(message)) ?? 0) + 1);
  return [...counts].map(
    ([message, count]) => `warning: ${printable(message)}${count === 1 ? '' : ` (${count} resources)`}`,
  );
}

/** Lines for the changes of a plan, one with their numbers, and its warnings. */
export function planLines({ diff, warnings }: Readonly<Fields>): string {
  const changes = changesOf(diff);
  const lines = changes.flatMap((change) => {
    const { action, type, logicalId, notice, differences, changedByOthers } = change;
    const name = printable(`${String(type)}/${String(logicalId)}`);
    return [
      `${signs[String(action)] ?? String(action)}  ${name}${typeof notice === 'string' ? ` (${printable(notice)})` : ''}`,
      ...(action === 'UPDATE' ? itemsOf(differences).map((one) => `    ${lineOf(one)}`) : []),
      ...itemsOf(changedByOthers).map((one) => `    changed by others: ${lineOf(one)}`),
    ];
  });
  const count = (action: string) => changes.filter((change) => change['action'] === action).length;
  const numbers = `${count('CREATE')} to create, ${count('UPDATE')} to update, ${count('DELETE')} to delete, ${count('DETACHED')} to detach${count('UNCHANGED') > 0 ? `, ${count('UNCHANGED')} to attach` : ''}`;
  const summary = changes.length === 0 ? 'no changes' : numbers;
  return `${[...lines, summary, ...warningLines(warnings)].join('\n')}\n`;
}
