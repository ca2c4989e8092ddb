import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { pathOf, type ResultFile } from './file-statements.ts';
import { readFooter } from './read-parquet.ts';

/** Opens files with results. Their footers are kept, because a file never changes. */

export type OpenFile = { buffer: AsyncBuffer; footer: FileMetaData };
export type OpenFiles = (file: ResultFile) => Promise<OpenFile>;

/** Bytes of all footers that are kept. In memory, a footer takes about twenty times as much. */
const keptBytes = 1024 * 1024;

export function createOpenFiles(files: NamedFiles): OpenFiles {
  // In the order of their last use.
  const footers = new Map<string, FileMetaData>();
  let kept = 0;

  return async (file) => {
    const buffer = bufferOf(files, file);
    const known = footers.get(file.id);
    const footer = known ?? (await readFooter(buffer, file.rows));
    if (!footers.delete(file.id)) kept += footer.metadata_length;
    footers.set(file.id, footer);
    for (const [id, { metadata_length: length }] of footers) {
      if (kept <= keptBytes || id === file.id) break;
      footers.delete(id);
      kept -= length;
    }
    return { buffer, footer };
  };
}

function bufferOf(files: NamedFiles, file: ResultFile): AsyncBuffer {
  return {
    byteLength: file.bytes,
    slice: async (start, end = file.bytes) => {
      const bytes = await files.read(pathOf(file), { start, end });
      if (bytes.length !== end - start) throw new Error(`it ends before byte ${end}`);
      const { buffer, byteOffset, byteLength } = bytes;
      // A copy, unless it is a buffer of its own.
      if (buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength)
        return buffer;
      return new Uint8Array(bytes).buffer;
    },
  };
}
