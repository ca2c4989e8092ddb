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

/** Lines for the changes of a plan, and one with their numbers. */
export function planLines(diff: unknown): string {
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
  return `${[...lines, changes.length === 0 ? 'no changes' : numbers].join('\n')}\n`;
}
