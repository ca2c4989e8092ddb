import { send } from '../base/service.ts';
import { ask } from './dialog.tsx';
import { sayDone, sayFailed } from './messages.tsx';

/** Deletion of anything, after a question. */

/** Asks, and deletes what is at `path`. Resolves with whether it was deleted; a refusal is shown as a message. */
export async function removeEntry({
  path,
  name,
  text,
}: {
  path: string;
  /** Like `the variable SHOP_TOKEN`. */
  name: string;
  /** The consequences. */
  text: string;
}): Promise<boolean> {
  const isSure = await ask({ title: `Delete ${name}?`, text, action: 'Delete', isDangerous: true });
  if (!isSure) return false;
  try {
    await send('DELETE', path);
    sayDone(`Deleted ${name}`);
    return true;
  } catch (error) {
    sayFailed(error);
    return false;
  }
}

export function DeleteButton({ name, onClick }: { name?: string; onClick: () => void }) {
  return (
    <button
      type="button"
      class="danger"
      aria-label={name === undefined ? undefined : `Delete ${name}`}
      onClick={onClick}
    >
      Delete
    </button>
  );
}

/** The heading of the column with `RowButtons`. */
export function ActionsHead() {
  return (
    <th scope="col">
      <span class="hidden-text">Actions</span>
    </th>
  );
}

/** The buttons of one row of a table. */
export function RowButtons({
  name,
  onChange,
  onDelete,
}: {
  name: string;
  onChange: () => void;
  onDelete: () => void;
}) {
  return (
    <span class="buttons">
      <button type="button" aria-label={`Change ${name}`} onClick={onChange}>
        Change
      </button>
      <DeleteButton name={name} onClick={onDelete} />
    </span>
  );
}
