import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** A zip archive of these entries, in order; `stored`: not packed. */
export async function makeZip(
  entries: readonly (readonly [name: string, content: string | Buffer])[],
  { stored = false, stream = false } = {},
): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of entries) {
    const bytes = Buffer.from(content);
    // With a stream, sizes follow the data.
    if (stream) zip.addReadStream(Readable.from([bytes]), name, { compress: !stored });
    else zip.addBuffer(bytes, name, { compress: !stored });
  }
  zip.end();
  const parts: Buffer[] = [];
  for await (const part of zip.outputStream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
