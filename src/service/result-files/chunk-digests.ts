import { createHash } from 'node:crypto';
import type { FileMetaData, KeyValue } from 'hyparquet';

/**
 * Digests by which damage of a file is noticed: one of each column of each group, in the footer, and one of the footer, in
 * the database. The format has checksums of compressed values only; a flipped bit beside them would give other values.
 */

/** Enough for damage, and short: a group has one for each column. */
const digestBytes = 8;
const key = 'column_digests';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Of a whole footer. */
export const footerDigestOf = (bytes: Uint8Array): string => sha256(bytes).toString('hex');

const digestOf = (bytes: Uint8Array) => sha256(bytes).subarray(0, digestBytes);

/** The entry of a footer with the digests of these columns, by group. */
export const digestEntry = (columns: readonly Uint8Array[]): KeyValue => ({
  key,
  value: Buffer.concat(columns.map(digestOf)).toString('base64'),
});

/** Throws if these are not the bytes of column number `column` of a group as they were written. */
export function verifyColumn(
  { key_value_metadata: entries, row_groups: groups }: FileMetaData,
  { group, column, bytes }: { group: number; column: number; bytes: Uint8Array },
): void {
  const text = entries?.find((entry) => entry.key === key)?.value ?? '';
  const all = Buffer.from(text, 'base64');
  const before = groups.slice(0, group).reduce((sum, { columns }) => sum + columns.length, 0);
  const at = (before + column) * digestBytes;
  if (!digestOf(bytes).equals(all.subarray(at, at + digestBytes)))
    throw new Error(`column ${column} of group ${group} is damaged`);
}
