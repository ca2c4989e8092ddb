import Type from 'typebox';
import { Nullable } from '../../../protocol/schema.ts';
import { sentUuidPattern } from '../../engine/ids.ts';
import { open, strict } from './strict-schema.ts';
import { paginationFields } from './pagination.ts';

/** Lists by cursor: `{length, entries, nextId}`. Their order does not shift when rows are added or deleted. */

/** Limit of lists that are read in one request. */
const maxAtOnce = 1000;

export const cursorFields = {
  limit: paginationFields.limit,
  nextId: Type.Optional(
    Type.String({
      pattern: sentUuidPattern,
      description: 'the nextId of the page before; left out: the first page',
    }),
  ),
  paginated: Type.Boolean({
    default: true,
    description: `False: one page of all entries (${maxAtOnce} at most); limit does not count.`,
  }),
};
export const CursorQuery = strict(Type.Object(cursorFields));

/** Schema of a page. `entry` names the schema of an entry. */
export function PageOf(entry: string, title: string) {
  return open(
    Type.Object(
      {
        length: Type.Integer({ description: 'Entries of this page.' }),
        entries: Type.Array(Type.Ref(entry)),
        nextId: Nullable(Type.String({ description: 'Null: this was the last page.' })),
      },
      { $id: title, title },
    ),
  );
}

/** A UUID or any other text. Whether it names a resource is checked against the database. */
export const anyId = Type.String({ minLength: 1, maxLength: 64 });

/** Reads a page: asks `list` for one row more than it shows, to find out whether there is another page. */
export async function pageOf<Row extends { id: string }, Entry>(
  query: { limit: number; nextId?: string; paginated: boolean },
  list: (options: { after: string | null; limit: number }) => Promise<Row[]>,
  present: (rows: Row[]) => Entry[] | Promise<Entry[]>,
): Promise<{ length: number; entries: Entry[]; nextId: string | null }> {
  const limit = query.paginated ? query.limit : maxAtOnce;
  const rows = await list({ after: query.nextId ?? null, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  const entries = await present(shown);
  return {
    length: entries.length,
    entries,
    nextId: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
  };
}
