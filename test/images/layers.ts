import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';

/** Looks through every file of every layer of images, those of their base images left out. */

export type Found = { layer: string; file: string; what: string };
export type Search = {
  /** Texts that no file may hold. */
  texts: readonly string[];
  /** Names that no file may have. */
  names: RegExp;
};

/**
 * What was found in the layers of `images` but those whose digest (of the tar archive, as `RootFS.Layers` lists it) is in
 * `baseLayers`; and how many layers and files were looked at.
 */
export async function searchLayers(
  images: readonly string[],
  baseLayers: readonly string[],
  search: Search,
): Promise<{ found: Found[]; layers: number; files: number }> {
  const saving = spawn('docker', ['save', ...images], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(saving, 'close');
  const all: { found: Found[]; files: number }[] = [];
  const outer = extract();
  const piped = pipeline(saving.stdout, outer);
  for await (const entry of outer) {
    // The other entries are descriptions: JSON, and small.
    const isSmall = entry.header.type !== 'file' || (entry.header.size ?? 0) < 1536;
    const layer = isSmall ? null : await searchLayer(entry, search);
    if (layer !== null && !baseLayers.includes(layer.digest)) all.push(layer);
    entry.resume();
  }
  await piped;
  const [code] = (await ended) as [number]; // of a process that was not signalled
  if (code !== 0) throw new Error(`docker save ended with ${code}`);
  return {
    found: all.flatMap(({ found }) => found),
    layers: all.length,
    files: all.reduce((sum, { files }) => sum + files, 0),
  };
}

/** One entry of the saved archive; null when it is no archive itself. */
async function searchLayer(stream: AsyncIterable<unknown>, { texts, names }: Search) {
  const hash = createHash('sha256');
  const needles = texts.map((text) => Buffer.from(text));
  const overlap = Math.max(0, ...needles.map(({ length }) => length - 1));
  const found: Found[] = [];
  let files = 0;
  const inner = extract();
  const search = async (): Promise<void> => {
    for await (const entry of inner) {
      files += 1;
      const { name, type } = entry.header;
      if (type === 'file' && names.test(`/${name}`)) found.push({ layer: '', file: name, what: 'its name' });
      let tail: Buffer = Buffer.alloc(0);
      for await (const part of entry) {
        const window = Buffer.concat([tail, part as Buffer]); // no encoding is set
        for (const [index, needle] of needles.entries())
          if (window.includes(needle)) found.push({ layer: '', file: name, what: texts[index] ?? '' });
        tail = window.subarray(Math.max(0, window.length - overlap));
      }
    }
  };
  let searched: Promise<void> | null = null;
  let isArchive: boolean | null = null;
  for await (const part of stream) {
    const chunk = part as Buffer; // as above
    isArchive ??= chunk.subarray(257, 262).toString('latin1') === 'ustar';
    // Read to its end all the same: an entry that is left half-way ends the whole archive.
    if (!isArchive) continue;
    searched ??= search();
    hash.update(chunk);
    if (!inner.write(chunk)) await Promise.race([once(inner, 'drain'), searched]);
  }
  if (searched === null) return null;
  inner.end(undefined);
  await searched;
  const digest = `sha256:${hash.digest('hex')}`;
  return { digest, files, found: found.map((each) => ({ ...each, layer: digest })) };
}
