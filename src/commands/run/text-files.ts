import { isFields, itemsOf, type Fields } from '../../json-values.ts';
import { textFields } from '../../service/projects/files/file-schema.ts';

/** Texts of a resource in files of their own: `<name>File` of its scripts, and `contentFile` of its dependencies. */

/** A file that a resource names. `path` is that of the field. */
export type TextFile = { path: readonly string[]; file: unknown };

/** All files that a resource names. */
export function textFilesOf(fields: Fields): TextFile[] {
  const scripts = textFields.map((name) => ({ path: [`${name}File`], file: fields[`${name}File`] }));
  const dependencies = itemsOf(fields['dependencies']).map((item, index) => ({
    path: ['dependencies', String(index), 'contentFile'],
    file: isFields(item) ? item['contentFile'] : undefined,
  }));
  return [...scripts, ...dependencies].filter(({ file }) => file !== undefined);
}

/**
 * The resource with the texts in place of the names of their files. `read` returns null for a file that it cannot read, and
 * notes the problem.
 */
export async function withTexts(
  fields: Fields,
  read: (file: TextFile) => Promise<string | null>,
): Promise<Fields> {
  const result = { ...fields };
  const dependencies = [...itemsOf(fields['dependencies'])];
  for (const named of textFilesOf(fields)) {
    const text = await read(named);
    const [field = '', index] = named.path;
    if (index === undefined) {
      delete result[field];
      if (text !== null) result[field.replace(/File$/, '')] = text;
    } else {
      const { contentFile: _, ...item } = dependencies[Number(index)] as Fields; // textFilesOf found the field in it
      dependencies[Number(index)] = { ...item, content: text ?? '' };
      result['dependencies'] = dependencies;
    }
  }
  return result;
}
